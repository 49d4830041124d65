import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostNamesOf, isHostName, isPrivateAddress, isTooWide } from './host-names.ts'

const INTERFACES = {
  lo: [{ address: '127.0.0.1', family: 'IPv4' }],
  eth0: [
    { address: '192.168.1.20', family: 'IPv4' },
    { address: 'fe80::1', family: 'IPv6' },
    { address: 'fd00::20', family: 'IPv6' },
  ],
  wwan0: [{ address: '8.8.8.8', family: 'IPv4' }],
}

test('a host has its name, its mDNS name, its public address, configured names and private addresses', () => {
  const facts = {
    hostName: 'Clubhouse',
    interfaces: INTERFACES,
    publicUrl: 'https://carts.club.example:8443',
    names: ['Starter', '10.1.2.3'],
  }
  assert.deepEqual(hostNamesOf(facts), {
    names: ['clubhouse', 'clubhouse.local', 'carts.club.example', 'starter', 'localhost'],
    addresses: ['127.0.0.1', '10.1.2.3', '192.168.1.20', 'fd00::20'],
  })
})

test('a name with dots also yields an mDNS name from its first part, and invalid names are omitted', () => {
  const named = (hostName: string) => hostNamesOf({ hostName, interfaces: {}, publicUrl: undefined }).names
  assert.deepEqual(named('pi.club.example'), ['pi.club.example', 'pi.local', 'localhost'])
  assert.deepEqual(named('pi.local'), ['pi.local', 'localhost'])
  assert.deepEqual(named('localhost'), ['localhost'])
  assert.deepEqual(named('my_pi'), ['localhost'])
})

test('host names and private addresses are distinguished from all other text', () => {
  for (const name of ['a', 'a-b.c', `${'a'.repeat(63)}.b`]) assert.ok(isHostName(name), name)
  for (const text of ['', '-a', 'a..b', 'a_b', '*.a', '10.0.0.1', '::1', `${'a'.repeat(64)}`, 'a b'])
    assert.ok(!isHostName(text), text)
  for (const address of ['10.0.0.1', '172.31.0.1', '192.168.0.1', '169.254.1.1', '127.9.9.9', '::1', 'fd12::1'])
    assert.ok(isPrivateAddress(address), address)
  for (const address of ['172.32.0.1', '1.1.1.1', '2001:db8::1', 'clubhouse', ''])
    assert.ok(!isPrivateAddress(address), address)
})

test('public suffixes are distinguished from names of hosts, and a host named like one is renamed', () => {
  for (const name of [
    'com',
    'COM',
    'de',
    'uk',
    'co.uk',
    'com.au',
    'org.nz',
    'golf',
    'local',
    'lan',
    'home.arpa',
    'duckdns.org',
    'github.io',
  ])
    assert.ok(isTooWide(name), name)
  for (const name of [
    'pi',
    'clubhouse',
    'golf.local',
    'links.co.uk',
    'links.de',
    'links.golf',
    'course.duckdns.org',
    'localhost',
  ])
    assert.ok(!isTooWide(name), name)
  const named = (hostName: string) => hostNamesOf({ hostName, interfaces: {}, publicUrl: 'https://co.uk' }).names
  assert.deepEqual(named('golf'), ['golf.local', 'localhost'])
})
