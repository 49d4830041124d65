import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, get } from 'node:https'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { Certificate } from './certificate.ts'
import { HttpListener } from './listener.ts'

const ONE = createKeyPair({ commonName: 'one' })
const TWO = createKeyPair({ commonName: 'two' })
const SETTINGS = { cert: 'CARTBARN_TLS_CERT', key: 'CARTBARN_TLS_KEY' }

/** An HTTPS server that answers every request, with a certificate from files. */
async function serve(t: TestContext) {
  const folder = new KeyPairFolder(ONE)
  const http = new HttpListener({ host: '127.0.0.1', port: 0, isSecure: true, drainMs: 50 }, () => new Response('ok'))
  const certificate = new Certificate({
    files: folder,
    settings: SETTINGS,
    clock: new FakeClock(),
    log: createLog('silent'),
  })
  certificate.secure(http)
  t.after(async () => {
    await http.stop()
    await http.drain()
    await certificate.stop()
    folder.remove()
  })
  await certificate.start()
  await http.start()
  return { http, certificate, folder }
}

function headersOf(url: string): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false }, (response) => {
      response.resume().on('end', () => resolve(response.headers))
    }).on('error', reject)
  })
}

/** Sends a request; returns the name in the certificate of the connection, and the client's port. */
function ask(url: string, agent?: Agent): Promise<{ name: string; port: number }> {
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false, ...(agent === undefined ? {} : { agent }) }, (response) => {
      // the server speaks HTTPS only
      const socket = response.socket as TLSSocket
      const { CN: name } = socket.getPeerCertificate().subject
      const port = socket.localPort ?? 0
      response.resume().on('end', () => resolve({ name: String(name), port }))
    }).on('error', reject)
  })
}

test('HSTS is sent with a certificate of an authority, and not with a self-signed one', async (t) => {
  const { http, certificate, folder } = await serve(t)
  const hsts = async () => (await headersOf(http.url))['strict-transport-security']
  assert.equal(await hsts(), undefined)
  folder.write(createKeyPair({ authorityKey: TWO.key }))
  await certificate.reload()
  assert.equal(await hsts(), 'max-age=31536000')
  folder.write(ONE)
  await certificate.reload()
  assert.equal(await hsts(), undefined)
})

test('a connection outlives its certificate, and new connections get the new certificate', async (t) => {
  const { http, certificate, folder } = await serve(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const first = await ask(http.url, agent)
  folder.write(TWO)
  await certificate.reload()
  assert.deepEqual(await ask(http.url, agent), first)
  assert.equal(first.name, 'one')
  assert.equal((await ask(http.url)).name, 'two')
})
