// The answers of a filter in a file, from the WebAssembly module.

/** @param wasm {BufferSource} the module @param file {ArrayBuffer} what `write_filter` has written */
export async function load(wasm, file) {
  const { instance } = await WebAssembly.instantiate(wasm);
  const { memory, input, open_filter, has_text, has_number, items, rate } = instance.exports;
  const put = (bytes) => {
    const at = input(bytes.length); // the memory may move with this
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  };
  put(new Uint8Array(file));
  if (!open_filter()) throw new Error("this file is damaged, or no file of a filter");
  return {
    items: items(),
    /** The share of absent keys for which the answer is yes. */
    rate: rate(),
    /** Whether the filter has the key: a number if it is one, as in `write_filter`. */
    has(key) {
      if (/^\+?\d+$/.test(key) && BigInt(key) < 1n << 64n) return has_number(BigInt(key)) === 1;
      put(new TextEncoder().encode(key));
      return has_text() === 1;
    },
  };
}
