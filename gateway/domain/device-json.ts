/** Strings, which are skipped, and numbers that a device computed wrongly, as C, C++ and JavaScript print them. */
const STRING_OR_NO_NUMBER =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|(?<![\w.+-])[+-]?(?:nan(?:\([\w-]*\))?|inf(?:inity)?)(?![\w.])/gi
const MAY_HAVE_NO_NUMBER = /nan|inf/i

const BOM = [0xef, 0xbb, 0xbf] as const
const NUL = 0x00
const WHITESPACE = [0x20, 0x09, 0x0a, 0x0d]

/**
 * Parses the JSON of a device's payload as firmware writes it: ignores a leading byte order mark and trailing NUL
 * bytes, and reads a bare `nan` or `inf` as a number that is not finite, so that it costs no other value. Throws
 * `SyntaxError`.
 */
export function parseDeviceJson(payload: Buffer): unknown {
  const text = withoutFraming(payload).toString('utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!MAY_HAVE_NO_NUMBER.test(text)) throw error
    return JSON.parse(text.replace(STRING_OR_NO_NUMBER, (token) => (token.startsWith('"') ? token : '1e999')))
  }
}

/**
 * Removes and counts members that are not finite numbers, from an object or each object of an array, for formats that
 * check each field as a whole. Goes no deeper, because payloads may be nested to any depth.
 */
export function withoutInfinite(json: unknown, onDrop: () => void): unknown {
  return Array.isArray(json)
    ? json.map((item: unknown) => withoutInfiniteMembers(item, onDrop))
    : withoutInfiniteMembers(json, onDrop)
}

function withoutInfiniteMembers(json: unknown, onDrop: () => void): unknown {
  if (Array.isArray(json)) return json
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(
    Object.entries(json).filter(([, value]) => {
      const isInfinite = typeof value === 'number' && !Number.isFinite(value)
      if (isInfinite) onDrop()
      return !isInfinite
    }),
  )
}

function withoutFraming(payload: Buffer): Buffer {
  const from = BOM.every((byte, i) => payload[i] === byte) ? BOM.length : 0
  let to = payload.length
  let hasNul = false
  for (let at = to - 1; at >= from; at--) {
    const byte = payload[at] ?? 0
    if (byte === NUL) {
      hasNul = true
      to = at
    } else if (!WHITESPACE.includes(byte)) break
  }
  return from === 0 && !hasNul ? payload : payload.subarray(from, to)
}
