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
pub(super) fn unmarked_key(command: &Command) -> Option<usize> {
    let Keys { at, more } = keys_of(command.args().first()?)?;
    let is_unmarked = |place: &usize| command.args().len() > *place && !command.is_key(*place);
    let mut at = at.iter().copied();
    at.find(is_unmarked)
        .or_else(|| places(more, command).into_iter().find(is_unmarked))
}

fn keys_of(name: &str) -> Option<&'static Keys> {
    let letter = name
        .bytes()
        .next()?
        .to_ascii_uppercase()
        .checked_sub(b'A')?;
    let mut names = NAMES.get(usize::from(letter))?.split(' ');
    let kind = names.find_map(|known| {
        let (known, kind) = known.split_at_checked(name.len())?;
        (kind.len() == 1 && known.eq_ignore_ascii_case(name)).then_some(kind)
    });
    KEYS.get(usize::from(kind?.bytes().next()? - b'a'))
}

/// The places of keys besides those that each call has. Some may be missing.
fn places(more: &More, command: &Command) -> Vec<usize> {
    let words = command.args();
    let end = words.len();
    match *more {
        More::Nothing => Vec::new(),
        More::All { from, step } => (from..end)
            .filter(|place| (place - from).is_multiple_of(step))
            .collect(),
        More::Counted(place) => {
            let count = words.get(place).and_then(|count| number(count));
            (place + 1..end)
                .take(count.map_or(0, |count| count as usize))
                .collect()
        }
        More::Options { from, key, other } => {
            let mut places = Vec::new();
            let mut place = from;
            while let Some(word) = words.get(place) {
                let is = |options: &[&str]| {
                    let mut options = options.iter();
                    !command.is_key(place)
                        && options.any(|option| word.eq_ignore_ascii_case(option))
                };
                if is(key) {
                    places.push(place + 1);
                }
                place += if is(key) || is(other) { 2 } else { 1 };
            }
            places
        }
        More::Streams(from) => {
            let is_mark = |place: &usize| {
                !command.is_key(*place) && words[*place].eq_ignore_ascii_case("STREAMS")
            };
            let behind = (from..end).find(is_mark).map_or(end, |mark| mark + 1);
            (behind..end).take((end - behind).div_ceil(2)).collect()
        }
    }
}
