import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Router, readRoute, screensFor, toHash } from './route.ts'

test('the address identifies the screen and its parameters', () => {
  assert.deepEqual(readRoute('#/fleet'), { screen: 'fleet', rest: null })
  assert.deepEqual(readRoute('#/map/17'), { screen: 'map', rest: '17' })
  assert.deepEqual(readRoute('#/more/tablets'), { screen: 'more', rest: 'tablets' })
})

test('an unknown screen leads to the map', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#pair=7K3M9QXA2BFT', '#/MAP', '#/map/%E0%A4%A'])
    assert.deepEqual(readRoute(hash), { screen: 'map', rest: null }, hash)
})

test('any cart name survives a round trip through the address', () => {
  for (const cart of ['17', 'A/1', 'ü ö', '#?&=%', '<b>', '🏌️', 'عربة'])
    assert.deepEqual(readRoute(toHash('map', cart)), { screen: 'map', rest: cart })
  assert.equal(toHash('alerts'), '#/alerts')
})

test('a player has the map and More', () => {
  assert.deepEqual(screensFor('user'), ['map', 'more'])
  for (const role of ['staff', 'admin'] as const) assert.equal(screensFor(role).length, 5)
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
