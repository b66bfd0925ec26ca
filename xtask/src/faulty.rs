//! A server that misbehaves on purpose, for the wasm tests: they cannot listen themselves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::Result;

/// Larger than any answer that the client reads.
const LARGE: usize = (1 << 20) + 1;

/// Serves until the process ends. Each path misbehaves in its own way.
pub(crate) fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The client may hang up at any time, which some of the tests are about.
            thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    std::io::copy(&mut reader.by_ref().take(length.unwrap_or(0)), &mut std::io::sink())?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let path = path.trim_end_matches('/');
    if path == "/mute" {
        // It answers nothing until the client hangs up.
        return std::io::copy(&mut reader, &mut std::io::sink()).map(drop);
    }
    let mut stream = stream;
    stream.write_all(&misbehave(path))
}

fn misbehave(path: &str) -> Vec<u8> {
    let whole = |status: &str, more: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n{body}"
        )
    };
    let chunked = |body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{length:x}\r\n{body}\r\n"
        )
    };
    match path {
        "/redirect" => whole("307 X", "location: /html\r\n", ""),
        "/html" => whole("200 OK", "content-type: text/html\r\n", "<html>Sign in</html>"),
        "/bad-gateway" => whole("502 X", "", "<html>Bad gateway</html>"),
        "/shed" => whole("429 X", "retry-after: 7\r\n", ""),
        "/cut" => "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"result\":[1,".to_owned(),
        "/cut-chunked" => chunked("{\"result\":[1,"),
        "/large" => whole("200 OK", "", &"x".repeat(LARGE)),
        "/large-chunked" => chunked(&"x".repeat(LARGE)) + "0\r\n\r\n",
        // Ends the connection without an answer.
        _ => String::new(),
    }
    .into_bytes()
}
