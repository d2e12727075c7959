//! The server: routes, answers, shutdown.

use crate::answers::{self, App, Asked, QUESTIONS, data, take};
use crate::assets::ASSETS;
use crate::desk::work;
use crate::files::LARGEST;
use crate::guard::guard;
use crate::lines::lines;
use crate::state::{FIRST, State};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, RawQuery, Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use ebbing::request::Door;
use ebbing::{Context, Error};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Serves until the program is stopped.
///
/// # Errors
/// Where the operating system does not let it serve.
pub fn serve(listener: TcpListener, app: App, port: u16, first: &str) -> ebbing::Result<()> {
    let failed = |e: std::io::Error| Error::io("127.0.0.1", e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        // The last part of an answer must not wait for more.
        let nodelay = |stream: &mut tokio::net::TcpStream| drop(stream.set_nodelay(true));
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(nodelay);
        let app = Arc::new(app);
        tokio::spawn(prepare(app.clone(), first.to_string()));
        tokio::select! {
            served = axum::serve(listener, router(app, port)).into_future() => served,
            () = stopped() => Ok(()),
        }
    });
    // Running computations end with the program.
    runtime.shutdown_background();
    served.map_err(failed)
}

/// Computes what the page asks for first while the browser is on its way.
async fn prepare(app: Arc<App>, address: String) {
    let Ok(state) = State::read(&address, &app.files) else { return };
    let job = move |app: &App, context: &Context| {
        answers::answer(QUESTIONS[0], &Asked { app, state: &state, first: true, context }).map(|_| ())
    };
    // What is wrong with it the page hears when it asks itself.
    let _ = computed(&app, Context::new(), false, job).await;
}

/// Waits for Ctrl-C or a termination signal.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// All routes behind the guard.
fn router(app: Arc<App>, port: u16) -> Router {
    let mut router = Router::new();
    for (path, kind, content) in ASSETS {
        let file = move || async move { ([(header::CONTENT_TYPE, kind)], content) };
        router = router.route(path, get(file));
    }
    router
        .route("/api/start", get(start))
        .route("/api/answer/{question}", get(answer))
        .route("/api/files", post(take_file))
        .route("/take/{command}/{file}", get(download))
        .fallback(async || (StatusCode::NOT_FOUND, "There is no such page.\n"))
        .layer(from_fn_with_state(port, guard))
        .with_state(app)
}

/// A sentence as the page shows it: settings are named as in its address, not as flags.
fn sentence(error: &Error) -> String {
    let said = match error {
        Error::Setting { name, value, expected } => Door::Page.say(Error::setting(name, value, expected)).to_string(),
        other => other.to_string(),
    };
    said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What the page needs before anything is computed, and the error in its address, if any: perhaps a file that is missing.
async fn start(Shared(app): Shared<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let address = About::of(query).state;
    let refused = State::read(&address, &app.files).err().map(|error| sentence(&error));
    let missing = State::missing(&address, &app.files);
    json_answer(&json!({
        "first": FIRST, "origins": data::origins(&app), "refused": refused, "missing": missing, "largest": LARGEST,
        "fields": State::fields()
    }))
}

fn json_answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// The parts of a query that are not the page's state: the page, the number of the request, and how much of an answer is asked for.
struct About {
    page: String,
    number: u64,
    first: bool,
    state: String,
}

impl About {
    fn of(query: Option<String>) -> About {
        let query = query.unwrap_or_default();
        let (mut own, mut state) = (HashMap::new(), form_urlencoded::Serializer::new(String::new()));
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if let Some(key) = key.strip_prefix("page.") {
                own.insert(key.to_string(), value.into_owned());
            } else {
                state.append_pair(&key, &value);
            }
        }
        About {
            page: own.remove("id").unwrap_or_default().chars().take(40).collect(),
            number: own.get("number").and_then(|n| n.parse().ok()).unwrap_or(0),
            first: own.contains_key("first"),
            state: state.finish(),
        }
    }
}

/// An answer as lines: progress, then the result, or a sentence.
async fn answer(Shared(app): Shared<Arc<App>>, Path(question): Path<String>, RawQuery(query): RawQuery) -> Response {
    let about = About::of(query);
    let (wanted, waiting) = app.desk.take(&about.page, about.number);
    let (writer, body) = lines(waiting);
    let state = State::read(&about.state, &app.files);
    tokio::spawn(async move {
        let answer = match state {
            Err(error) => json!({ "refused": sentence(&error) }),
            Ok(_) if !QUESTIONS.contains(&question.as_str()) => json!({ "refused": "There is no such question." }),
            Ok(state) => {
                let progress = writer.clone();
                let ready = answers::ready(&question, about.first, &app, &state);
                let context = Context::new().stop(wanted).listen(move |step| {
                    progress.progress(step.text, step.share);
                    ControlFlow::Continue(())
                });
                let job = move |app: &App, context: &Context| {
                    answers::answer(&question, &Asked { app, state: &state, first: about.first, context })
                };
                let begin = Instant::now();
                match computed(&app, context, ready, job).await {
                    Some(Ok(value)) => {
                        let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
                        json!({ "result": value, "milliseconds": milliseconds, "ready": ready, "kept": app.cache.bytes() })
                    }
                    Some(Err(sentence)) => json!({ "refused": sentence }),
                    None => json!({ "left": true }),
                }
            }
        };
        writer.finish(&answer).await;
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

/// Computes on a thread of its own: at once if everything heavy is cached, otherwise in its turn. None if nobody waits any more.
async fn computed<T: Send + 'static>(
    app: &Arc<App>,
    context: Context,
    ready: bool,
    job: impl FnOnce(&App, &Context) -> ebbing::Result<T> + Send + 'static,
) -> Option<Result<T, String>> {
    let turn = if ready { None } else { Some(app.desk.turn(&context.token()).await?) };
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        // Threads of its own, which end when nobody waits any more.
        let context = context.threads(rayon::current_num_threads());
        work(|| context.run(|| job(&app, &context)))
    });
    match done.await {
        Ok(Ok(Ok(value))) => Some(Ok(value)),
        Ok(Ok(Err(Error::Stopped))) | Err(_) => None,
        Ok(Ok(Err(error))) => Some(Err(sentence(&error))),
        Ok(Err(words)) => Some(Err(format!("This is a fault of the program, not of your input: {words}"))),
    }
}

/// A file to save.
async fn download(
    Shared(app): Shared<Arc<App>>,
    Path((command, file)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let refused = |sentence: String| (StatusCode::UNPROCESSABLE_ENTITY, format!("{sentence}\n")).into_response();
    if !take::COMMANDS.contains(&command.as_str()) {
        return (StatusCode::NOT_FOUND, "There is no such page.\n").into_response();
    }
    let about = About::of(query);
    let state = match State::read(&about.state, &app.files) {
        Ok(state) => state,
        Err(error) => return refused(sentence(&error)),
    };
    // A later request of the page does not cancel a download; it ends with its connection.
    let (wanted, _waiting) = app.desk.take(&format!("download {command} {file}"), about.number);
    let ready = answers::ready(&command, false, &app, &state);
    let job = move |app: &App, context: &Context| take::file(&command, &file, app, &state, context);
    match computed(&app, Context::new().stop(wanted), ready, job).await {
        Some(Ok(taken)) => {
            let named = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", taken.name));
            let named = named.unwrap_or_else(|_| HeaderValue::from_static("attachment"));
            let mut response = ([(header::CONTENT_TYPE, taken.kind)], taken.bytes).into_response();
            response.headers_mut().insert(header::CONTENT_DISPOSITION, named);
            response
        }
        Some(Err(sentence)) => refused(sentence),
        None => refused("Another request came first: ask again.".into()),
    }
}

/// Receives a file that was dropped on the page; its name is in the query, its content is the body.
async fn take_file(Shared(app): Shared<Arc<App>>, RawQuery(query): RawQuery, request: Request) -> Response {
    let query = query.unwrap_or_default();
    let name = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "name");
    let name = name.map_or_else(|| "tasks.npz".into(), |(_, name)| name.into_owned());
    let refused = |code: StatusCode, sentence: String| {
        let body = json!({ "refused": sentence }).to_string();
        (code, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let announced = announced(request.headers());
    let bytes = match announced.filter(|n| *n > LARGEST as u64) {
        Some(_) => None,
        None => collected(request.into_body()).await,
    };
    let Some(bytes) = bytes else {
        let mib = LARGEST >> 20;
        let sentence = format!(
            "{name} is larger than {mib} MiB, the most that the page takes: start ebbing explore --tasks FILE instead."
        );
        return refused(StatusCode::PAYLOAD_TOO_LARGE, sentence);
    };
    let read = tokio::task::spawn_blocking(move || match work(|| app.files.take(&name, &bytes)) {
        Ok(Ok(taken)) => Ok(taken),
        Ok(Err(error)) => Err(sentence(&error)),
        Err(words) => Err(format!("This is a fault of the program, not of your input: {words}")),
    });
    match read.await {
        Ok(Ok((name, classes))) => json_answer(&json!({ "name": name, "classes": classes })),
        Ok(Err(sentence)) => refused(StatusCode::UNPROCESSABLE_ENTITY, sentence),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "The file could not be read.".into()),
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The body, unless it is larger than the largest file; never more than that is in memory.
async fn collected(mut body: Body) -> Option<Vec<u8>> {
    let mut all: Vec<u8> = Vec::new();
    loop {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await;
        let data: Bytes = match frame {
            None => return Some(all),
            Some(Err(_)) => return None,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => data,
                Err(_) => continue,
            },
        };
        if all.len() + data.len() > LARGEST {
            return None;
        }
        all.extend_from_slice(&data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_the_names_of_the_address() {
        let refused = |name: &str, expected: &str| sentence(&Error::setting(name, 1, expected));
        assert_eq!(refused("--length", "must be at least 2"), "length is 1; must be at least 2");
        assert_eq!(refused("tasks", "must be at least 2"), "length is 1; must be at least 2");
        assert_eq!(
            refused("--ratio", "it belongs to --protocol permuted"),
            "ratio is 1; it belongs to protocol permuted"
        );
    }
}
