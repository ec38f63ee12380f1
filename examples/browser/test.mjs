// The page answers as the filter did: in node, and in Chromium. `./run --test` builds what is tested.
import assert from "node:assert";
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import test from "node:test";
import { promisify } from "node:util";
import { load } from "./filter.js";

const folder = new URL("../../target/page/", import.meta.url);
const [wasm, words] = await Promise.all(
  ["browser.wasm", "words.filter"].map((name) => readFile(new URL(name, folder))),
);

test("every number and every text is found, and few others", async () => {
  const filter = await load(wasm, words);
  assert.equal(filter.items, 20_000);
  const count = (of) => Array.from({ length: 10_000 }, (_, n) => filter.has(of(n + 1))).filter(Boolean).length;
  assert.equal(count((n) => `${n}`), 10_000);
  assert.equal(count((n) => `word ${n}`), 10_000);
  // 3 are expected of so many: 20 are no accident.
  const others = count((n) => `${n + 10_000}`) + count((n) => `no word ${n}`) + count((n) => `word ${n}é`);
  assert(others < 20, `${others}`);
  assert(filter.rate > 5e-5 && filter.rate < 2e-4, `${filter.rate}`);
  assert(!filter.has("99999999999999999999999") && !filter.has(""));
});

test("a file that is cut, flipped or another one is an error", async () => {
  const flipped = Buffer.from(words);
  flipped[words.length >> 1] ^= 1;
  for (const bytes of [words.subarray(0, -1), flipped, words.subarray(8), Buffer.alloc(0), wasm]) {
    await assert.rejects(load(wasm, bytes), /damaged/);
  }
});

/** Where the header of a snapshot has its slots in use, its stashed copies, and what is doubled. */
const ITEMS = [40, 96, 48];

test("the golden files of filters are read", async () => {
  const golden = new URL("../../tests/golden/", import.meta.url);
  const names = (await readdir(golden)).filter((name) => !/maplet|values|expiring/.test(name));
  assert(names.length > 15, `${names}`);
  for (const name of names) {
    const file = new URL("golden.filter", folder);
    const write = new URL("../../target/debug/examples/write_filter", import.meta.url);
    await promisify(execFile)(write.pathname, [file.pathname, new URL(name, golden).pathname]);
    const bytes = await readFile(file);
    const filter = await load(wasm, bytes);
    // The snapshot comes after the seed.
    const [inUse, copies, doubled] = ITEMS.map((at) => Number(bytes.readBigUInt64LE(8 + at)));
    assert.equal(filter.items, inUse + copies - doubled, name);
    assert(filter.items === 0 || filter.rate > 0, name);
  }
});

test("the module is small", () => assert(wasm.length < 60_000, `${wasm.length} bytes`));

test("a browser shows the answer", async (context) => {
  const types = { html: "text/html", js: "text/javascript", wasm: "application/wasm" };
  const server = createServer(async (request, response) => {
    const name = request.url.slice(1);
    const body = await readFile(new URL(name, folder)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": types[name.split(".")[1]] ?? "application/octet-stream" });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const page = `http://127.0.0.1:${server.address().port}/index.html`;
  const answer = async (link) => {
    const options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"];
    const { stdout } = await promisify(execFile)("chromium", [...options, `${page}#${link}`]);
    return [...stdout.matchAll(/<output id="\w+">(.*?)<\/output>/g)].map((match) => match[1]);
  };
  try {
    const [about, yes] = await answer("words.filter,word%207");
    assert.match(about, /^20000 keys\. 0\.0\d+ % of all/);
    assert.equal(yes, "Probably yes.");
    assert.deepEqual((await answer("words.filter,7"))[1], "Probably yes.");
    assert.deepEqual((await answer("words.filter,no%20word"))[1], "No.");
    assert.match((await answer("browser.wasm,7"))[0], /^It cannot be used: this file is damaged/);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    context.skip("there is no Chromium");
  } finally {
    server.close();
  }
});
