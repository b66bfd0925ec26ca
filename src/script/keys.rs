//! Where Redis' commands have their keys, so that a key that is not marked is refused before it is
//! sent. `npm/test/keys.ts` compares it with what Redis itself says.

use crate::command::Command;
use crate::outside::number;

/// Where a command has keys. Places are counted from the name, which is 0.
struct Keys {
    /// These are.
    at: &'static [usize],
    more: More,
}

enum More {
    Nothing,
    /// All from this place on, or each `step`th.
    All {
        from: usize,
        step: usize,
    },
    /// The word at this place says how many follow it.
    Counted(usize),
    /// From this place on stand options. The value of `key` is one, and that of `other` is none,
    /// though it may be called as an option is.
    Options {
        from: usize,
        key: &'static [&'static str],
        other: &'static [&'static str],
    },
    /// The first half of all behind `STREAMS`, which stands at this place or later.
    Streams(usize),
}

/// By the letter behind a command's name in [`NAMES`].
const KEYS: [Keys; 14] = {
    use More::{All, Counted, Nothing, Options, Streams};
    const fn keys(at: &'static [usize], more: More) -> Keys {
        Keys { at, more }
    }
    const fn options(
        from: usize,
        key: &'static [&'static str],
        other: &'static [&'static str],
    ) -> More {
        Options { from, key, other }
    }
    [
        keys(&[1], Nothing),
        keys(&[1, 2], Nothing),
        keys(&[2], Nothing),
        keys(&[], All { from: 1, step: 1 }),
        keys(&[], All { from: 1, step: 2 }),
        keys(&[], All { from: 2, step: 1 }),
        keys(&[], Counted(1)),
        keys(&[], Counted(2)),
        keys(&[1], Counted(2)),
        keys(&[1], options(2, &["STORE"], &["BY", "GET"])),
        keys(&[1], options(5, &["STORE", "STOREDIST"], &[])),
        keys(&[1], options(6, &["STORE", "STOREDIST"], &[])),
        keys(&[], Streams(1)),
        keys(&[], Streams(4)),
    ]
};

/// The commands that Redis runs in a script, by their first letters. Others pass.
const NAMES: [&str; 26] = [
    "APPENDa",
    "BITCOUNTa BITFIELD_ROa BITFIELDa BITOPf BITPOSa BLMPOPh BZMPOPh",
    "COPYb",
    "DECRBYa DECRa DELd DUMPa",
    "EXISTSd EXPIREATa EXPIRETIMEa EXPIREa",
    "",
    "GEOADDa GEODISTa GEOHASHa GEOPOSa GEORADIUSBYMEMBER_ROa GEORADIUSBYMEMBERk \
     GEORADIUS_ROa GEORADIUSl GEOSEARCHSTOREb GEOSEARCHa GETBITa GETDELa GETEXa GETRANGEa \
     GETSETa GETa",
    "HDELa HEXISTSa HEXPIREATa HEXPIRETIMEa HEXPIREa HGETALLa HGETDELa HGETEXa HGETa \
     HINCRBYFLOATa HINCRBYa HKEYSa HLENa HMGETa HMSETa HPERSISTa HPEXPIREATa HPEXPIRETIMEa \
     HPEXPIREa HPTTLa HRANDFIELDa HSCANa HSETEXa HSETNXa HSETa HSTRLENa HTTLa HVALSa",
    "INCRBYFLOATa INCRBYa INCRa",
    "",
    "",
    "LCSb LINDEXa LINSERTa LLENa LMOVEb LMPOPg LPOPa LPOSa LPUSHXa LPUSHa LRANGEa LREMa \
     LSETa LTRIMa",
    "MEMORYc MGETd MOVEa MSETNXe MSETe",
    "",
    "OBJECTc",
    "PERSISTa PEXPIREATa PEXPIRETIMEa PEXPIREa PFADDa PFCOUNTd PFMERGEd PSETEXa PTTLa",
    "",
    "RENAMENXb RENAMEb RESTOREa RPOPLPUSHb RPOPa RPUSHXa RPUSHa",
    "SADDa SCARDa SDIFFSTOREd SDIFFd SETBITa SETEXa SETNXa SETRANGEa SETa SINTERCARDg \
     SINTERSTOREd SINTERd SISMEMBERa SMEMBERSa SMISMEMBERa SMOVEb SORT_ROa SORTj SPOPa \
     SRANDMEMBERa SREMa SSCANa STRLENa SUBSTRa SUNIONSTOREd SUNIONd",
    "TOUCHd TTLa TYPEa",
    "UNLINKd",
    "",
    "",
    "XACKa XADDa XAUTOCLAIMa XCLAIMa XDELa XGROUPc XINFOc XLENa XPENDINGa XRANGEa \
     XREADGROUPn XREADm XREVRANGEa XSETIDa XTRIMa",
    "",
    "ZADDa ZCARDa ZCOUNTa ZDIFFSTOREi ZDIFFg ZINCRBYa ZINTERCARDg ZINTERSTOREi ZINTERg \
     ZLEXCOUNTa ZMPOPg ZMSCOREa ZPOPMAXa ZPOPMINa ZRANDMEMBERa ZRANGEBYLEXa ZRANGEBYSCOREa \
     ZRANGESTOREb ZRANGEa ZRANKa ZREMRANGEBYLEXa ZREMRANGEBYRANKa ZREMRANGEBYSCOREa ZREMa \
     ZREVRANGEBYLEXa ZREVRANGEBYSCOREa ZREVRANGEa ZREVRANKa ZSCANa ZSCOREa ZUNIONSTOREi \
     ZUNIONg",
];

/// The place of a key that is not marked, if one is not.
#[inline(never)]
pub(super) fn unmarked_key(command: &Command) -> Option<usize> {
    let words = command.args();
    let (end, Keys { at, more }) = (words.len(), keys_of(words.first()?)?);
    let is_unmarked = |place: &usize| *place < end && !command.is_key(*place);
    if let Some(place) = at.iter().find(|place| is_unmarked(place)) {
        return Some(*place);
    }
    let (from, to, step) = match *more {
        More::Nothing => return None,
        More::All { from, step } => (from, end, step),
        More::Counted(place) => {
            let count = words.get(place).and_then(|count| number(count));
            let count = count.map_or(0, |count| count as usize);
            (place + 1, end.min(count.saturating_add(place + 1)), 1)
        }
        More::Options { from, key, other } => return unmarked_value(command, from, key, other),
        More::Streams(from) => {
            let is_mark = |(place, word): &(usize, &String)| {
                *place >= from && !command.is_key(*place) && word.eq_ignore_ascii_case("STREAMS")
            };
            let mark = words.iter().enumerate().find(is_mark);
            let behind = mark.map_or(end, |(mark, _)| mark + 1);
            (behind, behind + (end - behind).div_ceil(2), 1)
        }
    };
    let mut places = (from..to).filter(|place| (place - from).is_multiple_of(step));
    places.find(is_unmarked)
}

/// The same of the values of options.
fn unmarked_value(command: &Command, from: usize, key: &[&str], other: &[&str]) -> Option<usize> {
    let (words, mut place) = (command.args(), from);
    while let Some(word) = words.get(place) {
        let is = |options: &[&str]| {
            let mut options = options.iter();
            !command.is_key(place) && options.any(|option| word.eq_ignore_ascii_case(option))
        };
        let value = place + 1;
        if is(key) && value < words.len() && !command.is_key(value) {
            return Some(value);
        }
        place += if is(key) || is(other) { 2 } else { 1 };
    }
    None
}

fn keys_of(name: &str) -> Option<&'static Keys> {
    let letter = name.bytes().next()?.to_ascii_uppercase().checked_sub(b'A')?;
    let names = NAMES.get(usize::from(letter))?.as_bytes();
    let kind = names.split(|byte| *byte == b' ').find_map(|known| {
        let (kind, known) = known.split_last()?;
        known.eq_ignore_ascii_case(name.as_bytes()).then_some(kind)
    });
    KEYS.get(usize::from(kind? - b'a'))
}
