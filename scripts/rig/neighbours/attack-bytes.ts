/** Requests and frames as bytes, ready to be sent repeatedly. */

const TEXT_FRAME = 0x81
const MASKED = 0x80
const LENGTH_16 = 126

/** Owner of the API key in a request. */
interface Keyed {
  password: string
}

export function getRequest(path: string, { password }: Keyed): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${password}\r\n\r\n`)
}

export function searchRequest(length: number, who: Keyed): Buffer {
  return getRequest(`/devices?search=${'x'.repeat(length)}`, who)
}

export function upgradeRequest(path: string, who?: Keyed): Buffer {
  const key = who === undefined ? '' : `X-API-Key: ${who.password}\r\n`
  return Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${key}\r\n`,
  )
}

/** POST to the hub; a `statedLength` above the body's length announces bytes that are never sent. */
export function postRequest(path: string, siteKey: string, body: Buffer, statedLength = body.length): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${siteKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${statedLength}\r\n` +
    (statedLength === body.length ? 'Content-Encoding: gzip\r\n\r\n' : '\r\n')
  return Buffer.concat([Buffer.from(head), body])
}

/** Client frame with a text of 126 to 65,535 bytes; the mask is 0, which changes nothing (RFC 6455, 5.3). */
export function webSocketFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const head = Buffer.alloc(8)
  head.writeUInt8(TEXT_FRAME, 0)
  head.writeUInt8(MASKED | LENGTH_16, 1)
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, payload])
}
