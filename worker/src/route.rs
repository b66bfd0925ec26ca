//! Which operation a method and a path name.

use percent_encoding::percent_decode_str;

use crate::day::Day;
use crate::input::Id;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    ShowPage,
    OpenSale(Id),
    ShowSale(Id),
    ShowLock(Id),
    PlaceOrder(Id),
    PlaceCart,
    Enter(Day),
    ShowLottery(Day),
    AcquireLock(String),
    RenewLock(String),
    ReleaseLock(String),
    InspectLock(String),
}

impl Route {
    /// Whether a request for it has a body that is used.
    pub(crate) const fn has_body(&self) -> bool {
        !matches!(
            self,
            Self::ShowPage
                | Self::ShowSale(_)
                | Self::ShowLock(_)
                | Self::ShowLottery(_)
                | Self::InspectLock(_)
        )
    }

    /// # Errors
    /// 404 for an unknown path, 405 for a wrong method, 422 for a name that is not allowed.
    pub(crate) fn of(method: &str, path: &str) -> Result<Self, Problem> {
        let segments: Vec<&str> = path.split('/').collect();
        // The answer is that of GET, without its body (RFC 9110 §9.3.2).
        let method = if method == "HEAD" { "GET" } else { method };
        match (segments.as_slice(), method) {
            (["", ""], "GET") => Ok(Self::ShowPage),
            (["", ""], _) => Err(wrong_method("GET, HEAD")),
            (["", "sales", sku], "PUT") => Ok(Self::OpenSale(sku_of(sku)?)),
            (["", "sales", sku], "GET") => Ok(Self::ShowSale(sku_of(sku)?)),
            (["", "sales", _], _) => Err(wrong_method("GET, HEAD, PUT")),
            (["", "sales", sku, "orders"], "POST") => Ok(Self::PlaceOrder(sku_of(sku)?)),
            (["", "orders"], "POST") => Ok(Self::PlaceCart),
            (["", "sales", sku, "lock"], "GET") => Ok(Self::ShowLock(sku_of(sku)?)),
            (["", "sales", _, "lock"], _) => Err(wrong_method("GET, HEAD")),
            (["", "lottery", id], "GET") => Ok(Self::ShowLottery(day_of(id)?)),
            (["", "lottery", _], _) => Err(wrong_method("GET, HEAD")),
            (["", "lottery", id, "entrants"], "POST") => Ok(Self::Enter(day_of(id)?)),
            (["", "locks", name], "GET") => Ok(Self::InspectLock(name_of(name)?)),
            (["", "locks", _], _) => Err(wrong_method("GET, HEAD")),
            (["", "locks", name, "acquire"], "POST") => Ok(Self::AcquireLock(name_of(name)?)),
            (["", "locks", name, "renew"], "POST") => Ok(Self::RenewLock(name_of(name)?)),
            (["", "locks", name, "release"], "POST") => Ok(Self::ReleaseLock(name_of(name)?)),
            (
                ["", "orders"]
                | ["", "sales", _, "orders"]
                | ["", "lottery", _, "entrants"]
                | ["", "locks", _, "acquire" | "renew" | "release"],
                _,
            ) => Err(wrong_method("POST")),
            _ => Err(Problem::new(
                404,
                "no_such_route",
                "there is /, /sales/{sku}, /sales/{sku}/orders, /sales/{sku}/lock, /orders, /lottery/{id}, /lottery/{id}/entrants, /locks/{name} and /locks/{name}/acquire, renew, release",
            )),
        }
    }
}

fn wrong_method(allow: &'static str) -> Problem {
    Problem::new(
        405,
        "method_not_allowed",
        format!("this route knows {allow}"),
    )
    .header("allow", allow)
}

fn sku_of(segment: &str) -> Result<Id, Problem> {
    let text = decoded("sku", segment)?;
    Id::parse(&text).ok_or_else(|| Problem::invalid("sku", format!("a sku is {}", Id::RULE)))
}

fn day_of(segment: &str) -> Result<Day, Problem> {
    let text = decoded("id", segment)?;
    Day::parse(&text)
        .ok_or_else(|| Problem::invalid("id", "a lottery's id is its day in UTC, as in 2026-11-21"))
}

fn name_of(segment: &str) -> Result<String, Problem> {
    decoded("name", segment)
}

fn decoded(field: &str, segment: &str) -> Result<String, Problem> {
    let text = percent_decode_str(segment).decode_utf8();
    text.map(String::from)
        .map_err(|_| Problem::invalid(field, format!("the {field} in the path is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Response;

    fn sku(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    #[test]
    fn each_operation_has_its_method_and_path() {
        for (method, path, route) in [
            ("GET", "/", Route::ShowPage),
            ("PUT", "/sales/42", Route::OpenSale(sku("42"))),
            ("GET", "/sales/42/lock", Route::ShowLock(sku("42"))),
            ("HEAD", "/sales/42", Route::ShowSale(sku("42"))),
            ("GET", "/sales/a.b_c-D", Route::ShowSale(sku("a.b_c-D"))),
            ("POST", "/sales/%34%32/orders", Route::PlaceOrder(sku("42"))),
            ("POST", "/orders", Route::PlaceCart),
            (
                "POST",
                "/lottery/2026-11-21/entrants",
                Route::Enter(day("2026-11-21")),
            ),
            (
                "GET",
                "/lottery/2026-11%2D21",
                Route::ShowLottery(day("2026-11-21")),
            ),
            ("GET", "/locks/a%2Fb", Route::InspectLock("a/b".to_owned())),
            (
                "POST",
                "/locks/%C3%BC/acquire",
                Route::AcquireLock("ü".to_owned()),
            ),
            (
                "POST",
                "/locks/acquire/renew",
                Route::RenewLock("acquire".to_owned()),
            ),
            (
                "POST",
                "/locks/x%7D/release",
                Route::ReleaseLock("x}".to_owned()),
            ),
        ] {
            assert_eq!(Route::of(method, path).unwrap(), route, "{method} {path}");
        }
    }

    fn day(text: &str) -> Day {
        Day::parse(text).unwrap()
    }

    #[track_caller]
    fn refused(method: &str, path: &str) -> Response {
        Route::of(method, path).unwrap_err().into()
    }

    #[test]
    fn other_paths_are_no_routes() {
        for path in [
            "//",
            "",
            "*",
            "/sales",
            "/sales/42/",
            "/sales/42/orders/1",
            "/orders/1",
            "/lottery",
            "/lottery/2026-11-21/winners",
            "/locks/a/b",
            "//sales/42",
            "/Sales/42",
        ] {
            assert_eq!(refused("GET", path).status, 404, "{path}");
        }
    }

    #[test]
    fn another_method_is_told_which_ones_there_are() {
        for (method, path, allow) in [
            ("POST", "/", "GET, HEAD"),
            ("POST", "/sales/42", "GET, HEAD, PUT"),
            ("POST", "/sales/42/lock", "GET, HEAD"),
            ("HEAD", "/sales/42/orders", "POST"),
            ("GET", "/sales/42/orders", "POST"),
            ("GET", "/orders", "POST"),
            ("PUT", "/lottery/2026-11-21", "GET, HEAD"),
            ("GET", "/lottery/today/entrants", "POST"),
            ("DELETE", "/locks/a", "GET, HEAD"),
            ("PUT", "/locks/a/acquire", "POST"),
        ] {
            let response = refused(method, path);
            assert_eq!(response.status, 405, "{method} {path}");
            assert!(
                response.headers.contains(&("allow", allow.to_owned())),
                "{response:?}"
            );
        }
    }

    #[test]
    fn a_name_in_the_path_that_cannot_be_one_is_named() {
        let long = format!("/sales/{}", "4".repeat(65));
        for (path, field) in [
            ("/sales/a%20b", "sku"),
            ("/sales/", "sku"),
            ("/sales/%7B42%7D", "sku"),
            (long.as_str(), "sku"),
            ("/sales/%FF", "sku"),
            ("/lottery/2026-11-31", "id"),
            ("/lottery/%FF", "id"),
            ("/locks/%FF", "name"),
        ] {
            let response = refused("GET", path);
            assert_eq!(response.status, 422, "{path}");
            assert!(
                response.body.contains(&format!(r#""field":"{field}""#)),
                "{response:?}"
            );
        }
    }
}
