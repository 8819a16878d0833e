#!/usr/bin/env node
// A worker in Node: operations on a key-value service, GET and PUT /kv/KEY, as JSON lines.

import { createInterface } from "node:readline";

async function attempt(operation) {
  const request = { signal: AbortSignal.timeout(operation.timeout_ms) };
  if (operation.kind === "write") {
    request.method = "PUT";
    request.headers = { "content-type": "application/json" };
    request.body = JSON.stringify({ value: operation.input });
  }
  const answer = await fetch(`http://${operation.endpoint}/kv/${operation.key}`, request);
  if (answer.status === 404) return { outcome: "ok", output: null };
  if (!answer.ok) return { outcome: "info", error: `HTTP ${answer.status}` };
  return { outcome: "ok", output: (await answer.json()).value ?? null };
}

for await (const line of createInterface({ input: process.stdin })) {
  const operation = JSON.parse(line);
  let result;
  try {
    result = await attempt(operation);
  } catch (error) {
    const refused = error.cause?.code === "ECONNREFUSED"; // nothing was sent: it did not happen
    result = { outcome: refused ? "fail" : "info", error: String(error.cause ?? error) };
  }
  process.stdout.write(JSON.stringify({ id: operation.id, ...result }) + "\n");
}
