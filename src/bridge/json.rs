//! What a script replies, as JSON: a flat array of numbers, strings and nils, or one of them alone.
//!
//! Read straight into [`Reply`], one level deep, so that no hostile answer can nest its way through the stack.

use miniserde::de::{Deserialize, Seq, Visitor};
use miniserde::{Error, Result, make_place};

use crate::command::Reply;

make_place!(Place);

/// One element of an array.
struct Scalar(Reply);

impl Deserialize for Scalar {
    fn begin(out: &mut Option<Self>) -> &mut dyn Visitor {
        Place::new(out)
    }
}

impl Visitor for Place<Scalar> {
    fn null(&mut self) -> Result<()> {
        self.set(Reply::Nil)
    }

    /// Webdis's mark of an error, behind which comes its text.
    fn boolean(&mut self, is_status: bool) -> Result<()> {
        if is_status {
            return Err(Error);
        }
        self.set(Reply::Error(String::new()))
    }

    fn string(&mut self, text: &str) -> Result<()> {
        self.set(Reply::Text(text.as_bytes().to_vec()))
    }

    fn negative(&mut self, number: i64) -> Result<()> {
        self.set(Reply::Int(number))
    }

    fn nonnegative(&mut self, number: u64) -> Result<()> {
        self.set(Reply::Int(i64::try_from(number).map_err(|_| Error)?))
    }
}

impl Place<Scalar> {
    fn set(&mut self, reply: Reply) -> Result<()> {
        self.out = Some(Scalar(reply));
        Ok(())
    }
}

impl Deserialize for Reply {
    fn begin(out: &mut Option<Self>) -> &mut dyn Visitor {
        Place::new(out)
    }
}

impl Visitor for Place<Reply> {
    fn null(&mut self) -> Result<()> {
        self.scalar(|scalar| scalar.null())
    }

    fn string(&mut self, text: &str) -> Result<()> {
        self.scalar(|scalar| scalar.string(text))
    }

    fn negative(&mut self, number: i64) -> Result<()> {
        self.scalar(|scalar| scalar.negative(number))
    }

    fn nonnegative(&mut self, number: u64) -> Result<()> {
        self.scalar(|scalar| scalar.nonnegative(number))
    }

    fn seq(&mut self) -> Result<Box<dyn Seq + '_>> {
        Ok(Box::new(Elements {
            out: &mut self.out,
            elements: Vec::new(),
            last: None,
        }))
    }
}

impl Place<Reply> {
    fn scalar(&mut self, visit: impl FnOnce(&mut dyn Visitor) -> Result<()>) -> Result<()> {
        let mut scalar = None;
        visit(Scalar::begin(&mut scalar))?;
        self.out = scalar.map(|Scalar(reply)| reply);
        Ok(())
    }
}

struct Elements<'a> {
    out: &'a mut Option<Reply>,
    elements: Vec<Reply>,
    last: Option<Scalar>,
}

impl Seq for Elements<'_> {
    fn element(&mut self) -> Result<&mut dyn Visitor> {
        self.elements
            .extend(self.last.take().map(|Scalar(reply)| reply));
        Ok(Scalar::begin(&mut self.last))
    }

    fn finish(&mut self) -> Result<()> {
        self.elements
            .extend(self.last.take().map(|Scalar(reply)| reply));
        *self.out = Some(Reply::Array(std::mem::take(&mut self.elements)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use miniserde::json;

    use super::*;

    #[test]
    fn a_flat_array_is_read_exactly() {
        let reply: Reply =
            json::from_str(r#"[1, -9007199254740993, "a\u00e9\n", null, ""]"#).unwrap();
        let text = |text: &str| Reply::Text(text.as_bytes().to_vec());
        let elements = vec![
            Reply::Int(1),
            Reply::Int(-9_007_199_254_740_993),
            text("aé\n"),
            Reply::Nil,
            text(""),
        ];
        assert_eq!(reply, Reply::Array(elements));
        assert_eq!(json::from_str::<Reply>("[]").unwrap(), Reply::Array(vec![]));
        assert_eq!(json::from_str::<Reply>("7").unwrap(), Reply::Int(7));
    }

    #[test]
    fn what_no_script_replies_is_refused() {
        let deep = "[".repeat(1 << 20);
        for text in [
            "[[1]]",
            "{}",
            "[{}]",
            "true",
            "false",
            "[true]",
            "[1.5]",
            "18446744073709551615",
            "[1,]",
            &deep,
        ] {
            assert!(json::from_str::<Reply>(text).is_err());
        }
    }
}
