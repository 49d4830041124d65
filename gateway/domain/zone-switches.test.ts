import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SiteZone } from '#shared/zones/zone.ts'
import {
  expireOverrides,
  NO_SWITCHES,
  replaceZones,
  type SwitchableZones,
  switchZones,
  withoutSwitches,
  zonesWithPendingOverrides,
} from './zone-switches.ts'

const IDS = ['a', 'b', 'c'] as const
const BY = { userId: 'u', name: 'Jo' }

function zone(id: string, isEnabled: boolean): SiteZone {
  return {
    id,
    name: id,
    type: 'alert',
    isEnabled,
    isVisible: false,
    message: null,
    maxSpeedKmh: null,
    hole: null,
    groups: null,
    shape: { kind: 'circle', center: { latE7: 1, longE7: 1 }, radiusM: 9 },
  }
}

/** Actions on the zones of a site, and the expected state of each by the contract. */
interface Expected {
  /** State as drawn by a user. */
  drawn: boolean
  /** Last override and its end; null without one. */
  override: { isEnabled: boolean; untilMs: number | null } | null
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('switch' as const),
    ids: fc.subarray([...IDS], { minLength: 1 }),
    isEnabled: fc.boolean(),
    forMs: fc.option(fc.integer({ min: 1, max: 50 })),
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: -20, max: 60 }) }),
  // one zone is redrawn; the others are stored again as read
  fc.record({ kind: fc.constant('put' as const), id: fc.constantFrom(...IDS), isEnabled: fc.boolean() }),
)

test('a zone has its last override until that expires, and then its original state', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let nowMs = 1000
      let site: SwitchableZones = { zones: IDS.map((id) => zone(id, false)), switches: NO_SWITCHES }
      const expected = new Map<string, Expected>(IDS.map((id) => [id, { drawn: false, override: null }]))
      for (const is of steps) {
        if (is.kind === 'wait') nowMs += is.ms
        if (is.kind === 'switch') {
          const untilMs = is.forMs === null ? null : nowMs + is.forMs
          site = switchZones(site, new Set(is.ids), {
            isEnabled: is.isEnabled,
            sinceMs: nowMs,
            untilMs,
            by: BY,
          })
          for (const id of is.ids)
            expected.set(id, {
              drawn: expected.get(id)?.drawn === true,
              override: { isEnabled: is.isEnabled, untilMs },
            })
        }
        if (is.kind === 'put') {
          const { id, isEnabled } = is
          site = replaceZones(
            site,
            site.zones.map((known) => (known.id === id ? zone(id, isEnabled) : known)),
          )
          expected.set(id, { drawn: isEnabled, override: null })
        }
        site = expireOverrides(site, nowMs) ?? site
        for (const [id, { drawn, override }] of expected)
          if (override?.untilMs != null && override.untilMs <= nowMs) expected.set(id, { drawn, override: null })

        const wanted = IDS.map((id) => expected.get(id))
        assert.deepEqual(
          site.zones.map(({ isEnabled }) => isEnabled),
          wanted.map((one) => one?.override?.isEnabled ?? one?.drawn),
        )
        assert.deepEqual(
          IDS.map((id) => site.switches.get(id)?.untilMs),
          wanted.map((one) => one?.override?.untilMs),
        )
        assert.deepEqual(
          withoutSwitches(site).map(({ isEnabled }) => isEnabled),
          wanted.map((one) => one?.drawn),
        )
        assert.deepEqual(
          zonesWithPendingOverrides(site).map(({ isEnabled }) => isEnabled),
          wanted.map((one) => one?.drawn === true || one?.override?.isEnabled === true),
        )
      }
    }),
  )
})

test('unaffected zones stay the same objects', () => {
  const site = { zones: [zone('a', true), zone('b', false)], switches: NO_SWITCHES }
  const switched = switchZones(site, new Set(['a', 'b']), { isEnabled: true, sinceMs: 1, untilMs: 5, by: BY })
  assert.equal(switched.zones[0], site.zones[0])
  assert.notEqual(switched.zones[1], site.zones[1])
  assert.equal(expireOverrides(switched, 4), null)
  assert.deepEqual(expireOverrides(switched, 5), { zones: site.zones, switches: new Map() })
})

test('a zone that was deleted, or replaced by an identical one, loses its override', () => {
  const site = { zones: [zone('a', true), zone('b', true)], switches: NO_SWITCHES }
  const switched = switchZones(site, new Set(['a', 'b']), {
    isEnabled: false,
    sinceMs: 1,
    untilMs: null,
    by: BY,
  })
  const [a, b] = switched.zones
  assert.ok(a !== undefined && b !== undefined)
  assert.deepEqual([...replaceZones(switched, [a]).switches.keys()], ['a'])
  assert.deepEqual([...replaceZones(switched, [a, { ...b }]).switches.keys()], ['a'])
})

test('switching a zone on again keeps its start time', () => {
  const on = (site: SwitchableZones, sinceMs: number, isEnabled = true) =>
    switchZones(site, new Set(['a']), { isEnabled, sinceMs, untilMs: null, by: BY })
  const first = on({ zones: [zone('a', false)], switches: NO_SWITCHES }, 1)
  const again = on(first, 2)
  assert.equal(again.switches.get('a')?.sinceMs, 1)
  assert.equal(on(on(again, 3, false), 4).switches.get('a')?.sinceMs, 4)
})
