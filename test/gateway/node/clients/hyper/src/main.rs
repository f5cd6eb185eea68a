//! Calls each path of the test server with hyper over one connection, and prints one line for each
//! result. Arguments: the address, the protocols by their ALPN names, and for TLS the file with the
//! authority's certificate. With TLS all protocols are offered, in order of preference. Without TLS
//! the only one is used by prior knowledge.
use bytes::Bytes;
use http_body_util::{BodyExt, Full, channel::Channel, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::ext::on_informational;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Body = BoxBody<Bytes, Infallible>;

const MIB: usize = 1 << 20;
/// Number of calls over a connection, one after the other.
const MANY: usize = 200;
/// Number of calls over a connection at the same time. The server responds when all have arrived.
const TOGETHER: usize = 50;

enum Connection {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

impl Connection {
    async fn open<S>(stream: S, protocol: &str) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(stream);
        println!("protocol {protocol}");
        if protocol == "h2" {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            return Ok(Connection::Http2(sender));
        }
        let (sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Connection::Http1(sender))
    }

    async fn send(&mut self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        match self {
            Connection::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Connection::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

struct Client {
    /// `http` or `https`.
    scheme: &'static str,
    address: String,
    connection: Connection,
}

impl Client {
    fn request(&self, method: Method, path: &str, body: Body) -> Result<Request<Body>, Failure> {
        let Client { scheme, address, connection } = self;
        let builder = Request::builder().method(method);
        let builder = match connection {
            Connection::Http1(_) => builder.uri(path).header("Host", address),
            Connection::Http2(_) => builder.uri(format!("{scheme}://{address}{path}")),
        };
        Ok(builder.body(body)?)
    }

    async fn call(&mut self, name: &str, method: Method, path: &str, body: Body) -> Result<(), Failure> {
        let request = self.request(method, path, body)?;
        let (status, text) = read(self.connection.send(request).await?).await?;
        print(name, status, &text);
        Ok(())
    }

    /// Over HTTP/1.1 the body waits for "100 Continue". Over HTTP/2 hyper does not report it.
    async fn expect_continue(&mut self) -> Result<(), Failure> {
        let continued = Arc::new(Notify::new());
        let (mut sender, body) = Channel::new(1);
        let mut request = self.request(Method::POST, "/length", body.boxed())?;
        request.headers_mut().insert("Expect", "100-continue".parse()?);
        let told = continued.clone();
        on_informational(&mut request, move |_| told.notify_one());
        if let Connection::Http2(_) = self.connection {
            continued.notify_one();
        }
        tokio::spawn(async move {
            continued.notified().await;
            sender.send_data(Bytes::from_static(b"hello")).await
        });
        let (status, text) = read(self.connection.send(request).await?).await?;
        print("continue", status, &text);
        Ok(())
    }

    async fn call_many(&mut self) -> Result<(), Failure> {
        let mut texts = Vec::new();
        for _ in 0..MANY {
            let request = self.request(Method::GET, "/hello", whole(0))?;
            texts.extend(read_ok(self.connection.send(request).await?).await?);
        }
        print("many", 200, &texts);
        Ok(())
    }

    /// Over HTTP/1.1 a connection carries one call at a time.
    async fn call_together(&mut self) -> Result<(), Failure> {
        let Connection::Http2(sender) = &self.connection else {
            return Ok(());
        };
        let mut calls = Vec::new();
        for _ in 0..TOGETHER {
            let request = self.request(Method::GET, "/together", whole(0))?;
            let mut sender = sender.clone();
            calls.push(tokio::spawn(async move { read_ok(sender.send_request(request).await?).await }));
        }
        let mut texts = Vec::new();
        for call in calls {
            texts.extend(call.await??);
        }
        print("together", 200, &texts);
        Ok(())
    }
}

fn whole(length: usize) -> Body {
    Full::new(Bytes::from(vec![b'x'; length])).boxed()
}

/// A body whose length hyper does not know.
fn chunks() -> Body {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        for _ in 0..1024 {
            sender.send_data(Bytes::from_static(&[b'x'; 1024])).await?;
        }
        Ok::<_, Failure>(())
    });
    body.boxed()
}

async fn read(response: Response<Incoming>) -> Result<(u16, Bytes), Failure> {
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

async fn read_ok(response: Response<Incoming>) -> Result<Bytes, Failure> {
    match read(response).await? {
        (200, text) => Ok(text),
        (status, _) => Err(format!("one of them was answered {status}").into()),
    }
}

fn print(name: &str, status: u16, text: &[u8]) {
    if text.len() > 100 {
        println!("{name} {status} {} bytes", text.len());
    } else {
        println!("{name} {status} {}", String::from_utf8_lossy(text));
    }
}

fn connector(authority: &str, protocols: &[&str]) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority)?)?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn connect(address: &str, protocols: &str, authority: Option<&String>) -> Result<Client, Failure> {
    let socket = TcpStream::connect(address).await?;
    let address = address.to_owned();
    let Some(authority) = authority else {
        let connection = Connection::open(socket, protocols).await?;
        return Ok(Client { scheme: "http", address, connection });
    };
    let protocols: Vec<&str> = protocols.split(',').collect();
    let stream = connector(authority, &protocols)?.connect("127.0.0.1".try_into()?, socket).await?;
    let chosen = stream.get_ref().1.alpn_protocol().ok_or("the server chose no protocol")?.to_vec();
    let connection = Connection::open(stream, str::from_utf8(&chosen)?).await?;
    Ok(Client { scheme: "https", address, connection })
}

async fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut client = connect(&arguments[0], &arguments[1], arguments.get(2)).await?;
    client.call("hello", Method::GET, "/hello", whole(0)).await?;
    client.call("length", Method::POST, "/length", whole(3 * MIB)).await?;
    client.call("chunks", Method::POST, "/length", chunks()).await?;
    client.call("stream", Method::GET, "/stream", whole(0)).await?;
    client.expect_continue().await?;
    client.call("missing", Method::GET, "/missing", whole(0)).await?;
    client.call("head", Method::HEAD, "/hello", whole(0)).await?;
    client.call("again", Method::GET, "/hello", whole(0)).await?;
    client.call_many().await?;
    client.call_together().await?;
    client.call("large", Method::POST, "/length", whole(5 * MIB)).await
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(run(&arguments))
}
