import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Router, readRoute, screensFor, toHash } from './route.ts'

test('the address identifies the screen and its parameters', () => {
  assert.deepEqual(readRoute('#/fleet'), { screen: 'fleet', rest: null, query: {} })
  assert.deepEqual(readRoute('#/map/17'), { screen: 'map', rest: '17', query: {} })
  assert.deepEqual(readRoute('#/more/tablets'), { screen: 'more', rest: 'tablets', query: {} })
})

test('an address without a screen is the map, and an unknown screen is none', () => {
  for (const hash of ['', '#', '#/', '#pair=7K3M9QXA2BFT', '#/map/%E0%A4%A'])
    assert.deepEqual(readRoute(hash), { screen: 'map', rest: null, query: {} }, hash)
  for (const hash of ['#/nothing', '#/MAP', '#/nothing/17?show=low']) assert.equal(readRoute(hash).screen, null, hash)
})

test('the address keeps filters and order, and bookmarks of earlier versions lead on', () => {
  const query = { show: 'low', sort: '-battery', search: 'a&b=ü' }
  assert.deepEqual(readRoute(toHash('fleet', '17', query)), { screen: 'fleet', rest: '17', query })
  assert.equal(readRoute('#/more/pace').screen, 'pace')
  assert.equal(toHash('more', 'devices/id/TB-001'), '#/more/devices/id/TB-001')
})

test('any cart name survives a round trip through the address', () => {
  for (const cart of ['17', 'A/1', 'ü ö', '#?&=%', '<b>', '🏌️', 'عربة'])
    assert.deepEqual(readRoute(toHash('map', cart)), { screen: 'map', rest: cart, query: {} })
  assert.equal(toHash('alerts'), '#/alerts')
})

test('a player has the map and More', () => {
  assert.deepEqual(screensFor('user'), ['map', 'more'])
  for (const role of ['staff', 'admin'] as const) assert.equal(screensFor(role).length, 6)
})

test('leaving a page with unsaved input needs a confirmation', (t) => {
  const listeners: (() => void)[] = []
  const page = { hash: '#/more/devices/new' }
  const pushed: string[] = []
  const known = {
    location: page,
    history: { pushState: (_: unknown, __: string, hash: string) => pushed.push(hash) },
  }
  const before = Object.fromEntries(
    ['location', 'history', 'addEventListener'].map((name) => [name, Reflect.get(globalThis, name)]),
  )
  const addEventListener = (type: string, act: () => void) => type === 'hashchange' && listeners.push(act)
  for (const [name, value] of Object.entries({ ...known, addEventListener }))
    Object.defineProperty(globalThis, name, { value, configurable: true })
  t.after(() => {
    for (const [name, value] of Object.entries(before))
      Object.defineProperty(globalThis, name, { value, configurable: true })
  })
  const router = new Router()
  router.start()
  const release = router.hold('Leave?')
  const goTo = (hash: string) => {
    page.hash = hash
    for (const act of listeners) act()
  }
  goTo('#/map')
  assert.deepEqual([router.asked.value, router.route.value.screen], ['Leave?', 'more'])
  router.stay()
  assert.deepEqual([router.asked.value, pushed], [null, ['#/more/devices/new']])
  goTo('#/map')
  router.leave()
  assert.deepEqual([router.asked.value, router.route.value.screen], [null, 'map'])
  release()
  goTo('#/fleet')
  assert.equal(router.route.value.screen, 'fleet')
})
