//! An HTTP gateway as one writes it by hand in Rust, with axum, serde and tonic:
//! `peer <port> <service> <token>`. It looks the bearer token up in a map, reads helloworld's request
//! from JSON, calls the gRPC service, and writes the response as JSON.
use std::collections::HashMap;
use std::env::args;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// helloworld.CallRequest
#[derive(Clone, PartialEq, Deserialize, prost::Message)]
#[serde(deny_unknown_fields)]
struct CallRequest {
    #[prost(string, tag = "1")]
    #[serde(default)]
    name: String,
}

/// helloworld.CallResponse
#[derive(Clone, PartialEq, Serialize, prost::Message)]
struct CallResponse {
    #[prost(string, tag = "1")]
    message: String,
    #[prost(string, tag = "2")]
    msg: String,
}

struct Gateway {
    /// Accounts by their tokens.
    accounts: HashMap<String, String>,
    service: Channel,
}

async fn call(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    Json(request): Json<CallRequest>,
) -> Result<Json<CallResponse>, StatusCode> {
    let authorization = headers.get(AUTHORIZATION).ok_or(StatusCode::UNAUTHORIZED)?;
    let authorization = authorization.to_str().map_err(|_| StatusCode::UNAUTHORIZED)?;
    let token = authorization.strip_prefix("Bearer ").ok_or(StatusCode::UNAUTHORIZED)?;
    let account = gateway.accounts.get(token).ok_or(StatusCode::UNAUTHORIZED)?;

    let mut request = tonic::Request::new(request);
    let value = account.parse().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    request.metadata_mut().insert("x-account", value);
    let mut client = Grpc::new(gateway.service.clone());
    client.ready().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    let path = PathAndQuery::from_static("/helloworld.Helloworld/Call");
    let codec = ProstCodec::<CallRequest, CallResponse>::default();
    let response = client.unary(request, path, codec).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(Json(response.into_inner()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [port, service, token] = args().skip(1).collect::<Vec<_>>().try_into().expect("<port> <service> <token>");
    let gateway = Gateway {
        accounts: HashMap::from([(token, "bench".to_string())]),
        service: Endpoint::from_shared(format!("http://127.0.0.1:{service}"))?.connect().await?,
    };
    let routes = Router::new()
        .route("/v1/helloworld/call", post(call))
        .layer(DefaultBodyLimit::max(4 * 1024 * 1024))
        .with_state(Arc::new(gateway));
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, routes).await?;
    Ok(())
}
