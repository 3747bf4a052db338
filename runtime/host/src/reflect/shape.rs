//! What can a value look like? A type of the component goes in; a tree of ours comes out, or the reason why there is none.
//!
//! Types of a component share parts, so a few bytes of it can mean a tree without an end. Reading stops at a depth and
//! at a size.

use wasmtime::component::{
    Type,
    types::{Record, Variant},
};

/// A type that JSON can carry both ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number that a JSON number can carry.
    Whole(Width),
    /// A signed number of 64 bits, as digits.
    S64,
    /// An unsigned number of 64 bits, as digits.
    U64,
    /// A number of single precision.
    F32,
    /// A number of double precision.
    F64,
    /// One character.
    Char,
    /// Text.
    Text,
    /// Bytes, as base64.
    Bytes,
    /// Any number of the same.
    List(Box<Self>),
    /// Named fields, each there or, where it is an option, absent.
    Record(Vec<(String, Self)>),
    /// A fixed number of different ones.
    Tuple(Vec<Self>),
    /// One of several cases.
    Variant(Vec<(String, Option<Self>)>),
    /// One of several names.
    Enum(Vec<String>),
    /// Some of several names.
    Flags(Vec<String>),
    /// Something or nothing.
    Option(Box<Self>),
    /// Either way.
    Result {
        /// What stands behind `ok`.
        ok: Option<Box<Self>>,
        /// What stands behind `error`.
        error: Option<Box<Self>>,
    },
}

/// The whole numbers that fit into a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
}

/// How much of a type may still be read.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: usize,
}

impl Width {
    /// The smallest and the largest number.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S16 => "s16",
            Self::U16 => "u16",
            Self::S32 => "s32",
            Self::U32 => "u32",
        }
    }
}

impl Room {
    /// Room for one function.
    pub(crate) fn new() -> Self {
        Self { bytes: TYPE_BYTES_MAX }
    }

    /// Takes room for one name or node.
    pub(crate) fn take(&mut self, name: &str) -> Result<(), &'static str> {
        self.bytes = self.bytes.checked_sub(NODE_BYTES + name.len()).ok_or("its types are larger than 64 KiB")?;
        Ok(())
    }
}

impl Shape {
    /// Reads a type.
    ///
    /// # Errors
    /// The reason, as a fragment behind the name of a function, why JSON cannot carry it.
    pub(crate) fn read(ty: &Type, room: &mut Room) -> Result<Self, &'static str> {
        Self::read_at(ty, room, 1)
    }

    fn read_at(ty: &Type, room: &mut Room, depth: usize) -> Result<Self, &'static str> {
        if depth > DEPTH_MAX {
            return Err("its types are nested deeper than 16");
        }
        room.take("")?;
        let mut read = |ty: &Type| Self::read_at(ty, room, depth + 1);
        Ok(match ty {
            Type::Bool => Self::Bool,
            Type::S8 => Self::Whole(Width::S8),
            Type::U8 => Self::Whole(Width::U8),
            Type::S16 => Self::Whole(Width::S16),
            Type::U16 => Self::Whole(Width::U16),
            Type::S32 => Self::Whole(Width::S32),
            Type::U32 => Self::Whole(Width::U32),
            Type::S64 => Self::S64,
            Type::U64 => Self::U64,
            Type::Float32 => Self::F32,
            Type::Float64 => Self::F64,
            Type::Char => Self::Char,
            Type::String => Self::Text,
            Type::List(list) => match list.ty() {
                Type::U8 => Self::Bytes,
                element => Self::List(Box::new(read(&element)?)),
            },
            Type::Tuple(tuple) => Self::Tuple(tuple.types().map(|ty| read(&ty)).collect::<Result<_, _>>()?),
            Type::Option(option) => match read(&option.ty())? {
                Self::Option(_) => return Err("it has an option directly in an option, which JSON cannot tell apart"),
                inner => Self::Option(Box::new(inner)),
            },
            Type::Result(result) => {
                let mut side = |ty: Option<Type>| ty.map(|ty| read(&ty).map(Box::new)).transpose();
                Self::Result { ok: side(result.ok())?, error: side(result.err())? }
            }
            Type::Record(record) => Self::record(record, room, depth)?,
            Type::Variant(variant) => Self::variant(variant, room, depth)?,
            Type::Enum(names) => Self::Enum(Self::names(names.names(), room)?),
            Type::Flags(names) => Self::Flags(Self::names(names.names(), room)?),
            Type::Own(_) | Type::Borrow(_) => return Err("it takes or gives a resource"),
            Type::Future(_) | Type::Stream(_) => return Err("it takes or gives a stream or a future"),
            Type::ErrorContext => return Err("it takes or gives an error context"),
            Type::Map(_) => return Err("it takes or gives a map"),
            Type::FixedLengthList(_) => return Err("it takes or gives a list of fixed length"),
        })
    }

    fn record(record: &Record, room: &mut Room, depth: usize) -> Result<Self, &'static str> {
        let mut fields = Vec::new();
        for field in record.fields() {
            room.take(field.name)?;
            fields.push((field.name.to_owned(), Self::read_at(&field.ty, room, depth + 1)?));
        }
        Ok(Self::Record(fields))
    }

    fn variant(variant: &Variant, room: &mut Room, depth: usize) -> Result<Self, &'static str> {
        let mut cases = Vec::new();
        for case in variant.cases() {
            room.take(case.name)?;
            let payload = case.ty.map(|ty| Self::read_at(&ty, room, depth + 1)).transpose()?;
            cases.push((case.name.to_owned(), payload));
        }
        Ok(Self::Variant(cases))
    }

    fn names<'a>(names: impl Iterator<Item = &'a str>, room: &mut Room) -> Result<Vec<String>, &'static str> {
        names.map(|name| room.take(name).map(|()| name.to_owned())).collect()
    }

    /// The type as WIT spells it; named types are spelled out, since a component keeps no names for them.
    pub(crate) fn wit(&self) -> String {
        let payload = |shape: Option<&Self>| shape.map_or_else(|| "_".to_owned(), Self::wit);
        match self {
            Self::Bool => "bool".to_owned(),
            Self::Whole(width) => width.word().to_owned(),
            Self::S64 => "s64".to_owned(),
            Self::U64 => "u64".to_owned(),
            Self::F32 => "f32".to_owned(),
            Self::F64 => "f64".to_owned(),
            Self::Char => "char".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Bytes => "list<u8>".to_owned(),
            Self::List(element) => format!("list<{}>", element.wit()),
            Self::Record(fields) => {
                let fields = fields.iter().map(|(name, shape)| format!("{name}: {}", shape.wit()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Self::Tuple(shapes) => format!("tuple<{}>", shapes.iter().map(Self::wit).collect::<Vec<_>>().join(", ")),
            Self::Variant(cases) => {
                let case = |(name, shape): &(String, Option<Self>)| match shape {
                    Some(shape) => format!("{name}({})", shape.wit()),
                    None => name.clone(),
                };
                cases.iter().map(case).collect::<Vec<_>>().join(" | ")
            }
            Self::Enum(names) => names.join(" | "),
            Self::Flags(names) => format!("flags {{{}}}", names.join(", ")),
            Self::Option(inner) => format!("option<{}>", inner.wit()),
            Self::Result { ok, error } => format!("result<{}, {}>", payload(ok.as_deref()), payload(error.as_deref())),
        }
    }
}

/// Levels of one type. Conversion goes down as deep, on a stack that is not the guest's.
const DEPTH_MAX: usize = 16;
/// Names and nodes of one function's types. Twenty nested pairs are a million nodes.
const TYPE_BYTES_MAX: usize = 64 * 1_024;
/// What a node costs beside its name: about as much as its schema has punctuation.
const NODE_BYTES: usize = 16;
