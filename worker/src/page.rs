//! The page that shows a sale, and buys.

use edgelock::{Runtime, Transport};

use crate::http::Response;
use crate::problem::Problem;
use crate::shop::Shop;

/// The same for each sale: its script reads the sku from the address.
const PAGE: &str = include_str!("page.html");

/// Stands in the page's text where the nonce belongs.
const PLACE: &str = "{nonce}";

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) fn show_page(&self) -> Result<Response, Problem> {
        let mut nonce = [0; 16];
        let drawn = self.client.runtime().random(&mut nonce);
        drawn.map_err(|_| Problem::of(edgelock::Error::EntropyUnavailable))?;
        Ok(page(&format!("{:032x}", u128::from_be_bytes(nonce))))
    }
}

/// A browser runs only the script, and applies only the style, that have the answer's nonce. It
/// loads nothing from elsewhere, and sends nothing elsewhere.
fn page(nonce: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    Response {
        status: 200,
        content_type: "text/html; charset=utf-8",
        headers: vec![
            ("content-security-policy", policy),
            ("x-content-type-options", "nosniff".to_owned()),
            ("referrer-policy", "no-referrer".to_owned()),
        ],
        body: PAGE.replace(PLACE, nonce),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_under_30_kb_and_needs_nothing_from_elsewhere() {
        assert!(PAGE.len() < 30_000, "{} bytes", PAGE.len());
        // The name of SVG is the only address. Nothing is loaded from it.
        let addresses = PAGE.matches("://").count();
        assert_eq!(
            addresses,
            PAGE.matches("http://www.w3.org/2000/svg").count()
        );
        for word in ["innerHTML", "eval(", "style=", "onclick", "import("] {
            assert!(!PAGE.contains(word), "{word}");
        }
    }

    #[test]
    fn only_the_pages_own_script_and_style_have_the_nonce_of_its_policy() {
        let page = page("0123");
        let (_, policy) = &page.headers[0];
        assert!(policy.contains("script-src 'nonce-0123'; style-src 'nonce-0123'"));
        assert_eq!(page.body.matches("nonce=\"0123\"").count(), 2);
        assert!(!page.body.contains(PLACE));
    }
}
