//! Does blobs do what its grant and its limits say, without a guest around it?

use chitin_types::Part;
use futures::executor::block_on;

use super::*;
use crate::{
    capability::scene::Scene,
    wit::{
        chitin::host::run,
        wire::{FailureKind, Part as WirePart},
    },
};

fn create(scene: &mut Scene, name: &str, media_type: &str) -> Result<Resource<BlobWriter>, Failure> {
    let (name, media_type) = (Some(name.to_owned()), Some(media_type.to_owned()));
    block_on(blobs::Host::create(&mut scene.state, name, media_type)).unwrap()
}

fn write(scene: &mut Scene, writer: &Resource<BlobWriter>, bytes: usize) -> wasmtime::Result<Result<(), Failure>> {
    let writer = Resource::new_borrow(writer.rep());
    block_on(blobs::HostBlobWriter::write(&mut scene.state, writer, vec![7; bytes]))
}

fn finish(scene: &mut Scene, writer: Resource<BlobWriter>) -> Resource<Blob> {
    block_on(blobs::HostBlobWriter::finish(&mut scene.state, writer)).unwrap().unwrap()
}

#[test]
fn what_is_written_comes_back_as_a_file_and_counts_once() {
    let mut scene = Scene::new(|grant| grant.limits.output_kib = 4);
    let writer = create(&mut scene, "out/report.txt", "text/plain").unwrap();
    write(&mut scene, &writer, 2_000).unwrap().unwrap();
    write(&mut scene, &writer, 2_000).unwrap().unwrap();
    let blob = finish(&mut scene, writer);
    let mut read = |offset: u64, max: u32| {
        let blob = Resource::new_borrow(blob.rep());
        block_on(wire::HostBlob::read(&mut scene.state, blob, offset, max)).unwrap().unwrap().len()
    };
    assert_eq!([read(0, 10), read(3_995, 10), read(4_000, 10), read(u64::MAX, u32::MAX)], [10, 5, 0, 0]);
    let part = scene.state.part_from_guest(WirePart::File(blob)).unwrap();
    let Part::File(file) = part else { panic!("{part:?}") };
    assert_eq!((file.name.as_deref(), file.media_type.as_deref()), (Some("report.txt"), Some("text/plain")));
    assert_eq!(file.bytes, vec![7; 4_000]);
    assert!(scene.state.part_from_guest(WirePart::Text("x".repeat(200))).is_err(), "the file counted");
}

#[test]
fn a_file_in_a_partial_result_is_kept_too() {
    let mut scene = Scene::new(|_| ());
    let writer = create(&mut scene, "a.png", "image/png").unwrap();
    write(&mut scene, &writer, 3).unwrap().unwrap();
    let blob = finish(&mut scene, writer);
    block_on(run::Host::partial(&mut scene.state, WirePart::File(blob))).unwrap();
    let partial = scene.state.call.partial.lock().unwrap();
    assert!(matches!(partial.as_slice(), [Part::File(file)] if file.bytes == [7, 7, 7]), "{partial:?}");
}

#[test]
fn writing_ends_at_the_output_limit_and_one_write_at_a_mebibyte() {
    let mut scene = Scene::new(|grant| grant.limits.output_kib = 4_096);
    let writer = create(&mut scene, "a", "text/plain").unwrap();
    let large = write(&mut scene, &writer, PIECE_BYTES_MAX + 1).unwrap();
    assert_eq!(large.unwrap_err().kind, FailureKind::Limited);
    for _ in 0..4 {
        write(&mut scene, &writer, PIECE_BYTES_MAX).unwrap().unwrap();
    }
    assert!(write(&mut scene, &writer, 1).is_err());
    assert_eq!(scene.state.call.reached.get(), Some("output (4096 KiB)"));
}

#[test]
fn a_file_of_the_host_counts_only_when_it_is_returned() {
    let mut scene = Scene::new(|grant| grant.limits.output_kib = 1);
    let file = Attachment { name: None, media_type: None, bytes: vec![1; 2_048] };
    let blob = scene.state.table.push(Blob::given(file)).unwrap();
    let borrowed = Resource::new_borrow(blob.rep());
    assert_eq!(block_on(wire::HostBlob::size(&mut scene.state, borrowed)).unwrap(), Some(2_048));
    assert!(scene.state.part_from_guest(WirePart::File(blob)).is_err());
}

#[test]
fn names_are_no_paths_and_media_types_are_media_types() {
    let name = |given: &str, expected: Option<&str>| assert_eq!(display_name(given).as_deref(), expected, "{given:?}");
    name("report.pdf", Some("report.pdf"));
    name("/etc/passwd", Some("passwd"));
    name("..\\..\\boot.ini", Some("boot.ini"));
    name("a\u{202e}fdp.exe\n", Some("afdp.exe"));
    name("..", None);
    name("dir/", None);
    name("", None);
    let media = |given: &str, expected: bool| assert_eq!(is_media_type(given), expected, "{given:?}");
    media("image/png", true);
    media("text/plain; charset=utf-8", true);
    media("image", false);
    media("/png", false);
    media("a/b\r\nset-cookie: x", false);
    let mut scene = Scene::new(|_| ());
    assert_eq!(create(&mut scene, "a", "nothing").map(|_| ()).unwrap_err().kind, FailureKind::InvalidInput);
    assert!(create(&mut scene, "a", "text/plain").is_ok());
}
