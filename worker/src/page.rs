//! The page that shows a sale, and buys.

use edgelock::Runtime;
use shared::call::{Answer, Call, head};
use shared::problem::Problem;

/// The same for each sale: its script reads the sku from the address.
const PAGE: &str = include_str!("page.html");

/// Stands in the page's text where the nonce belongs.
const PLACE: &str = "{nonce}";

/// A browser runs only the script, and applies only the style, that have the answer's nonce. It
/// loads nothing from elsewhere, and sends nothing elsewhere.
///
/// # Errors
/// 500 if the host gives no random numbers.
pub fn show(call: &Call) -> Answer {
    let mut nonce = [0; 16];
    let drawn = call.client.runtime().random(&mut nonce);
    drawn.map_err(|_| Problem::failed("the host gives no random numbers"))?;
    let nonce = format!("{:032x}", u128::from_be_bytes(nonce));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let head = head(200, "text/html; charset=utf-8")?
        .with_header("content-security-policy", &policy)?
        .with_header("referrer-policy", "no-referrer")?;
    Ok(head.fixed(PAGE.replace(PLACE, &nonce).into_bytes()))
}
