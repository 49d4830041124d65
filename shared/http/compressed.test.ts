import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createApiOf, type RequestEnv } from './api-env.ts'
import { compressed, varyByAccepted } from './compressed.ts'
import { streamed } from './responses.ts'

const LONG = 'cart '.repeat(1000)
const app = createApiOf<RequestEnv>()
app.use(compressed)
app.use(varyByAccepted)
app.get('/long', (c) => c.json({ text: LONG }, 201))
app.get('/short', (c) => c.json({ text: 'cart' }))
app.get('/tagged', (c) => c.body(LONG, 200, { etag: '"1"', 'content-type': 'application/geo+json' }))
app.get('/photo', (c) => c.body(LONG, 200, { 'content-type': 'image/jpeg' }))
app.get('/part', (c) => c.body(LONG, 206, { 'content-type': 'text/csv', 'content-range': 'bytes 0-4999/9999' }))
app.get('/unchanged', (c) => c.body(null, 304))
app.get('/file', (c) => streamed(c, new Blob([LONG]).stream(), { 'content-type': 'text/csv' }))

const ask = (path: string, encoding?: string, method = 'GET') =>
  app.request(path, { method, headers: encoding === undefined ? {} : { 'accept-encoding': encoding } })

for (const encoding of ['gzip', 'br, GZIP', 'deflate, gzip;q=0.5', 'gzip ; q=1.0, br', 'x-gzip']) {
  test(`a response over 1 KB is compressed for a client that accepts ${encoding}`, async () => {
    const answer = await ask('/long', encoding)
    assert.deepEqual(
      [answer.status, answer.headers.get('content-encoding'), answer.headers.get('vary')],
      [201, 'gzip', 'Accept, Accept-Encoding'],
    )
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert.ok(bytes.length < 500)
    assert.deepEqual(JSON.parse(gunzipSync(bytes).toString()), { text: LONG })
  })
}

for (const encoding of [undefined, '', 'br', 'gzip;q=0', 'gzip; q=0.00, br', 'gzippo', 'identity']) {
  test(`a client that accepts ${encoding ?? 'nothing'} gets it uncompressed, with a Vary header`, async () => {
    const answer = await ask('/long', encoding)
    assert.deepEqual(
      [answer.headers.get('content-encoding'), answer.headers.get('vary')],
      [null, 'Accept, Accept-Encoding'],
    )
    assert.deepEqual(await answer.json(), { text: LONG })
  })
}

test('a short response, one without a body and a HEAD are left uncompressed', async () => {
  const short = await ask('/short', 'gzip')
  assert.equal(short.headers.get('content-encoding'), null)
  assert.deepEqual(await short.json(), { text: 'cart' })
  assert.equal((await ask('/unchanged', 'gzip')).status, 304)
  const head = await ask('/long', 'gzip', 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-encoding'), await head.text()], [201, null, ''])
})

test('a streamed response is left uncompressed', async () => {
  const file = await ask('/file', 'gzip')
  assert.equal(file.headers.get('content-encoding'), null)
  assert.equal(await file.text(), LONG)
})

test('photos and partial responses are left uncompressed', async () => {
  for (const path of ['/photo', '/part']) {
    const answer = await ask(path, 'gzip')
    assert.deepEqual([answer.headers.get('content-encoding'), await answer.text()], [null, LONG], path)
  }
})

test('the tag of a compressed response is weak', async () => {
  assert.equal((await ask('/tagged', 'gzip')).headers.get('etag'), 'W/"1"')
  assert.equal((await ask('/tagged')).headers.get('etag'), '"1"')
})
