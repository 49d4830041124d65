import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressWatch } from './address-watch.ts'
import { type Interfaces, outerAddresses } from './outer-addresses.ts'

const of = (address: string, scopeid?: number) => ({
  address,
  netmask: '',
  mac: '02:00:00:00:00:01',
  cidr: null,
  internal: address === '127.0.0.1' || address === '::1',
  ...(address.includes(':') ? { family: 'IPv6' as const, scopeid: scopeid ?? 0 } : { family: 'IPv4' as const }),
})
const INTERFACES: Interfaces = {
  lo: [of('127.0.0.1'), of('::1')],
  eth0: [of('fd00::5'), of('192.168.1.20'), of('fe80::1', 2)],
  wlan0: [of('fd01::7'), of('fe80::2', 3)],
}

for (const [host, addresses] of [
  ['::', ['192.168.1.20', 'fd00::5', 'fd01::7']],
  ['0.0.0.0', ['192.168.1.20']],
  ['192.168.1.20', ['192.168.1.20']],
  ['fd01::7', ['fd01::7']],
  ['127.0.0.1', []],
  ['192.168.9.9', []],
] as const)
  test(`a listener on ${host} is reachable at ${addresses.join(', ') || 'no address of the network'}`, () => {
    assert.deepEqual(
      outerAddresses(host, INTERFACES).map(({ address }) => address),
      addresses,
    )
  })

test('each new address is reported once', async () => {
  const urls = ['http://127.0.0.1', 'http://10.0.0.5', 'http://10.0.0.5', 'http://[fd00::5]']
  const reported: string[] = []
  const watch = new AddressWatch(urls[0] ?? '', {
    read: async () => urls.shift() ?? '',
    onChange: async (url) => void reported.push(url),
  })
  while (urls.length > 0) await watch.check()
  assert.deepEqual(reported, ['http://10.0.0.5', 'http://[fd00::5]'])
})
