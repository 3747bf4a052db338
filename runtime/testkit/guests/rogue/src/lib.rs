//! A channel that does to its host whatever a channel can do: it traps, spins, grows, floods and lies. What it is to do stands
//! in the body of the request, in the text of the answer that it is to send, or in `/workspace/start`.
//!
//! Never: anything that a user should install.

mod bindings;
mod deed;

use bindings::exports::chitin::channel::core::{Guest, InboundHttp, Outbound, Receipt, ReplyHttp, SocketEvent};
use chitin_sdk::Failure;

struct Rogue;

impl Guest for Rogue {
    fn start() -> Result<(), Failure> {
        match std::fs::read_to_string("/workspace/start").as_deref().map(str::trim) {
            Ok("trap") => deed::trap(),
            Ok("loop") => deed::spin(),
            Ok("refuse") => Err(Failure::needs_auth("the platform does not know this token")),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn on_http(request: InboundHttp) -> ReplyHttp {
        deed::on_http(&request)
    }

    /// Counts the ticks in the cursor.
    fn on_tick(cursor: Option<String>) -> Result<Option<String>, Failure> {
        let ticks: u64 = cursor.as_deref().unwrap_or("0").parse().map_err(|_| Failure::internal("not its cursor"))?;
        Ok(Some((ticks + 1).to_string()))
    }

    fn on_socket(_socket: String, _event: SocketEvent) -> Result<(), Failure> {
        Ok(())
    }

    fn send(message: Outbound) -> Result<Receipt, Failure> {
        match message.text.as_str() {
            "trap" => deed::trap(),
            "loop" => deed::spin(),
            "refuse" => Err(Failure::other("the platform knows no such room")),
            "later" => Err(Failure::upstream("the platform is down").retry_after_ms(1_234)),
            _ => Ok(Receipt { id: format!("r-{}", message.in_reply_to.as_deref().unwrap_or("nothing")) }),
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "what wit-bindgen exports")]
mod exported {
    use crate::{Rogue, bindings};

    bindings::export!(Rogue with_types_in bindings);
}

#[cfg(not(target_arch = "wasm32"))]
const _: fn(InboundHttp) -> ReplyHttp = <Rogue as Guest>::on_http;
