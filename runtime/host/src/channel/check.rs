//! May this request come in? The route of the signed manifest, the user's secret and the request go in; a stamp or a
//! refusal comes out. Pure: the time is given.

use chitin_package::{ChannelAsk, HmacRecipe, Route};
use chitin_ports::{ChannelError, HttpIn};
use chitin_types::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::replay::Stamp;

/// The route that the request names, if it takes this method and a body of this size.
pub(super) fn route<'a>(ask: &'a ChannelAsk, request: &HttpIn) -> Result<&'a Route, ChannelError> {
    let route = ask.route(&request.route).filter(|route| route.methods.contains(&request.method));
    let route = route.ok_or(ChannelError::NoRoute)?;
    let bytes_max = usize::try_from(route.body_kib).unwrap_or(usize::MAX).saturating_mul(1024);
    if request.body.len() > bytes_max {
        return Err(ChannelError::TooLarge { bytes_max });
    }
    Ok(route)
}

/// Checks who calls. The signature comes first, so that nobody without the secret learns anything about times.
pub(super) fn verify(
    recipe: &HmacRecipe,
    secret: &Secret,
    request: &HttpIn,
    now_ms: u64,
) -> Result<Option<Stamp>, ChannelError> {
    let signature = signature(recipe, request)?;
    let time = recipe.timestamp_header.as_deref().map(|name| only(request, name)).transpose()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("HMAC takes a key of any length");
    if let Some(time) = time {
        mac.update(time.as_bytes());
        mac.update(b".");
    }
    mac.update(&request.body);
    // Compares in constant time.
    mac.verify_slice(&signature).map_err(|_| ChannelError::BadSignature)?;
    time.map(|time| stamp(recipe, signature, time, now_ms)).transpose()
}

/// The headers without those that carry a credential, which no component needs: the host has checked it.
pub(super) fn without_credentials(recipe: &HmacRecipe, headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let checked = [Some(recipe.header.as_str()), recipe.timestamp_header.as_deref()];
    let is_credential = |name: &str| {
        let mut all = CREDENTIALS.into_iter().chain(checked.into_iter().flatten());
        all.any(|other| name.eq_ignore_ascii_case(other))
    };
    headers.into_iter().filter(|(name, _)| !is_credential(name)).collect()
}

fn signature(recipe: &HmacRecipe, request: &HttpIn) -> Result<[u8; 32], ChannelError> {
    let digits = only(request, &recipe.header)?.strip_prefix(recipe.prefix.as_str());
    let mut signature = [0; 32];
    let read = digits.map(|digits| hex::decode_to_slice(digits, &mut signature));
    match read {
        Some(Ok(())) => Ok(signature),
        Some(Err(_)) | None => Err(ChannelError::BadSignature),
    }
}

/// The value of a header that comes exactly once: of two, another program on the way may have checked the other.
fn only<'a>(request: &'a HttpIn, name: &str) -> Result<&'a str, ChannelError> {
    let mut values = request.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    match (values.next(), values.next()) {
        (Some((_, value)), None) => Ok(value),
        (Some(_), Some(_)) | (None, _) => Err(ChannelError::BadSignature),
    }
}

fn stamp(recipe: &HmacRecipe, signature: [u8; 32], time: &str, now_ms: u64) -> Result<Stamp, ChannelError> {
    let time_s: u64 = time.parse().map_err(|_| ChannelError::BadSignature)?;
    let tolerance_s = u64::from(recipe.tolerance_s);
    if (now_ms / 1_000).abs_diff(time_s) > tolerance_s {
        return Err(ChannelError::Replay);
    }
    let expires_ms = time_s.saturating_add(tolerance_s).saturating_add(1).saturating_mul(1_000);
    Ok(Stamp { signature, expires_ms })
}

/// What browsers, proxies and clients prove themselves with.
const CREDENTIALS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-api-key"];

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
