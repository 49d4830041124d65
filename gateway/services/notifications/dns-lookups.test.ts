import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { test } from 'node:test'
import { DnsLookups } from './dns-lookups.ts'

type Answer = (error: Error | null, addresses: LookupAddress[]) => void

/** Lookups that the test answers. */
function slowLookups() {
  const asked: { host: string; answer: Answer }[] = []
  const lookUp = (host: string, _options: unknown, answer: Answer) => void asked.push({ host, answer })
  // the only overload in use
  const lookups = new DnsLookups(lookUp as never)
  const find = (host: string, all = false) =>
    new Promise<unknown>((resolve) =>
      lookups.lookup(host, { all }, (error, address, family) =>
        resolve(error === null ? [address, family] : error.message),
      ),
    )
  return { asked, find }
}

const ADDRESS = { address: '192.0.2.7', family: 4 }

test('two hosts are looked up at a time, and each host once', async () => {
  const { asked, find } = slowLookups()
  const found = ['a', 'b', 'c', 'a', 'c'].map((host) => find(host))
  const shown = asked.map(({ host }) => host)
  assert.deepEqual(shown, ['a', 'b'])
  asked[0]?.answer(null, [ADDRESS])
  assert.equal(asked[2]?.host, 'c')
  asked[2]?.answer(null, [ADDRESS])
  asked[1]?.answer(new Error('gone'), [])
  const one = ['192.0.2.7', 4]
  assert.deepEqual(await Promise.all(found), [one, 'gone', one, one, one])
  assert.equal(asked.length, 3)
})

test('all addresses are returned to a caller that can use them, and a missing address is reported', async () => {
  const { asked, find } = slowLookups()
  const [all, none] = [find('a', true), find('b', true)]
  asked[0]?.answer(null, [ADDRESS, ADDRESS])
  asked[1]?.answer(null, [])
  assert.deepEqual(await all, [[ADDRESS, ADDRESS], undefined])
  assert.equal(await none, 'b has no address')
})

test('localhost is resolved', async () => {
  const { lookup } = new DnsLookups()
  const address = await new Promise((resolve) => lookup('localhost', {}, (_error, found) => resolve(found)))
  assert.match(String(address), /^(127\.|::1)/)
})
