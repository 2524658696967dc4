//! Sells the seats of a theatre under a lock: the program of the tutorial,
//! `assets/docs/rust-locks-tutorial.md`.
//!
//! ```text
//! cargo run -p lockscope-lock --example sell_seats -- localhost:2181 anna
//! ```

use std::error::Error;
use std::time::Duration;

use lockscope_lock::zookeeper_client::{self, Acls, Client, CreateMode};
use lockscope_lock::{Algorithm, Guard, Lock, LockError, LockOptions, cleaned_up};

/// The resource that the lock protects. It holds `TOKEN SEATS`: the fencing token of the last
/// seller, and the number of free seats.
const SEATS: &str = "/seats";

/// How long a seller waits for its turn before it tells its customer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a sale takes.
const SALE: Duration = Duration::from_millis(500);

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, name] = arguments.as_slice() else {
        return Err("usage: sell_seats SERVERS NAME".into());
    };
    let client = Client::connect(servers).await?;
    offer_seats(&client, 100).await?;
    let options = LockOptions::default().data(name.as_str());
    let lock = Lock::with(&client, "/locks/seats", Algorithm::Chain, options)?;
    let outcome = sell_all(&client, &lock).await;
    // A guard that was dropped deletes its node in the background, which the end of the runtime
    // would stop.
    cleaned_up(&client).await;
    outcome
}

/// Creates the resource, unless another seller did.
async fn offer_seats(client: &Client, seats: u32) -> Result<(), Failure> {
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    match client.create(SEATS, format!("0 {seats}").as_bytes(), &options).await {
        Ok(_) | Err(zookeeper_client::Error::NodeExists) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sells seats until none is left.
async fn sell_all(client: &Client, lock: &Lock) -> Result<(), Failure> {
    loop {
        let guard = match lock.acquire_within(PATIENCE).await {
            Err(LockError::TimedOut { .. }) => {
                println!("please wait: others are being served");
                continue;
            }
            acquired => acquired?,
        };
        let left = tokio::select! {
            // Others may hold the lock from now on: stop the sale.
            loss = guard.lost() => return Err(format!("the lock was lost: {loss}").into()),
            left = sell_one(client, &guard) => left?,
        };
        guard.release().await?;
        let Some(left) = left else { return Ok(()) };
        println!("sold a seat, {left} left");
    }
}

/// Sells one seat and returns how many are left; `None` if there was none to sell.
async fn sell_one(client: &Client, guard: &Guard) -> Result<Option<u32>, Failure> {
    let (data, stat) = client.get_data(SEATS).await?;
    let text = String::from_utf8(data)?;
    let (last_token, seats) = text.split_once(' ').ok_or("the node does not hold TOKEN SEATS")?;
    let (last_token, seats) = (last_token.parse::<i64>()?, seats.parse::<u32>()?);
    if last_token > guard.token().0 {
        return Err("a later holder has sold a seat: this lock was lost".into());
    }
    let Some(left) = seats.checked_sub(1) else { return Ok(None) };
    tokio::time::sleep(SALE).await;
    // The version lets the write fail if somebody else has written since the read.
    let data = format!("{} {left}", guard.token());
    client.set_data(SEATS, data.as_bytes(), Some(stat.version)).await?;
    Ok(Some(left))
}
