/** Requests as bytes, ready to be sent repeatedly. */

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

/** POST to the hub; a `statedLength` above the body's length announces bytes that are never sent. */
export function postRequest(path: string, siteKey: string, body: Buffer, statedLength = body.length): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${siteKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${statedLength}\r\n` +
    (statedLength === body.length ? 'Content-Encoding: gzip\r\n\r\n' : '\r\n')
  return Buffer.concat([Buffer.from(head), body])
}
