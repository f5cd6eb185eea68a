//! Calls each path of the test's server by hyper over one connection, and prints a line of what came of each.
use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{Method, Request, body::Frame, client::conn::http1};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;

type Failure = Box<dyn std::error::Error>;

const MIB: usize = 1 << 20;

fn whole(length: usize) -> BoxBody<Bytes, Infallible> {
    Full::new(Bytes::from(vec![b'x'; length])).boxed()
}

fn chunks() -> BoxBody<Bytes, Infallible> {
    let pieces = (0..1024).map(|_| Ok(Frame::data(Bytes::from(vec![b'x'; 1024]))));
    BodyExt::boxed(StreamBody::new(Pieces(pieces.collect::<Vec<_>>().into_iter())))
}

/// An iterator as a stream.
struct Pieces(std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>);

impl futures_core::Stream for Pieces {
    type Item = Result<Frame<Bytes>, Infallible>;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

async fn run(address: String) -> Result<(), Failure> {
    let socket = tokio::net::TcpStream::connect(&address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::task::spawn_local(connection);
    let calls = [
        ("hello", Method::GET, "/hello", whole(0), false),
        ("length", Method::POST, "/length", whole(3 * MIB), false),
        ("chunks", Method::POST, "/length", chunks(), false),
        ("stream", Method::GET, "/stream", whole(0), false),
        ("continue", Method::POST, "/length", whole(5), true),
        ("missing", Method::GET, "/missing", whole(0), false),
        ("head", Method::HEAD, "/hello", whole(0), false),
        ("again", Method::GET, "/hello", whole(0), false),
        ("large", Method::POST, "/length", whole(5 * MIB), false),
    ];
    for (name, method, path, body, expects) in calls {
        let mut request = Request::builder().method(method).uri(path).header("Host", &address);
        if expects {
            request = request.header("Expect", "100-continue");
        }
        sender.ready().await?;
        let response = sender.send_request(request.body(body)?).await?;
        let status = response.status().as_u16();
        let text = response.into_body().collect().await?.to_bytes();
        if text.len() > 100 {
            println!("{name} {status} {} bytes", text.len());
        } else {
            println!("{name} {status} {}", String::from_utf8_lossy(&text));
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("the address is missing")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, run(address))
}
