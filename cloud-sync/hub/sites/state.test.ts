import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SiteFigures, SiteRow } from '#hub/store/site-figures.ts'
import { REBUILT_REASON } from '#shared/wire/replication/rebuild.ts'
import { siteHealth } from './state.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const MINUTE_MS = 60_000

const WELL: SiteRow = {
  site_id: 'north',
  name: 'North',
  created_at_ms: 0,
  program: 'cartbarn 0.1.0',
  clock_offset_ms: 12,
  is_clock_trusted: true,
  last_seen_ms: NOW_MS - 4000,
  backlog_rows: 0,
  backlog_oldest_ms: null,
  two_gateways_ms: null,
  reported_ms: NOW_MS - 5000,
  unconfirmed_rows: 0,
  stored_bytes: 20e9,
}
const MAX_BYTES = 100e9
const TIMES = { nowMs: NOW_MS, trustedSinceMs: NOW_MS - 60 * MINUTE_MS, because: 'started' } as const
const FIGURES: SiteFigures = { devices: 1, keys: 1, gapCount: 0, gapRows: 0, quarantined: 0, audit: null, epochs: [] }
const FORK = { site_id: 'north', epoch: 'b', forked_from: 'a', reason: 'restored from a backup' }

for (const [state, words, site, figures] of [
  ['ok', /^All is well: last contact 4 seconds ago, all data is here except that of the last seconds/, {}, {}],
  ['ok', /the rest is being sent/, { backlog_rows: 3, backlog_oldest_ms: NOW_MS - 5000 }, {}],
  ['never_seen', /give the site key .* to the gateway/, { last_seen_ms: null }, {}],
  ['never_seen', /the site has no key/, { last_seen_ms: null }, { keys: 0 }],
  [
    'silent',
    /^Not connected since 2026-05-01T11:57:00.000Z: it has no power/,
    { last_seen_ms: NOW_MS - 3 * MINUTE_MS },
    {},
  ],
  ['silent', /its key is revoked/, { last_seen_ms: NOW_MS - 3 * MINUTE_MS }, { keys: 0 }],
  ['ok', /keeps 91.5 GB of this site, of 100 GB at most/, { stored_bytes: 91.5e9 }, {}],
  ['full', /^The hub keeps 100 GB of this site.*Raise CARTBARN_HUB_SITE_MAX_GB/, { stored_bytes: 100e9 }, {}],
  ['full', /delete its quarantine/, { stored_bytes: 100e9 }, { quarantined: 1 }],
  ['behind', /^1,000 records are pending/, { backlog_rows: 1000, backlog_oldest_ms: NOW_MS - 11 * MINUTE_MS }, {}],
  ['quarantined', /^The hub could not read 2 pieces of its data/, {}, { quarantined: 2 }],
  ['two_gateways', /^Two gateways send as this site/, { two_gateways_ms: NOW_MS - MINUTE_MS }, {}],
  ['ok', /^All is well/, { two_gateways_ms: NOW_MS - 60 * MINUTE_MS }, {}],
  ['ok', /clock of the gateway is 10 minutes ahead of that of the hub/, { clock_offset_ms: 10 * MINUTE_MS }, {}],
  ['ok', /clock of the gateway is 60 seconds behind that of the hub/, { clock_offset_ms: -MINUTE_MS }, {}],
  ['ok', /all data is here[^.]*\.$/, { clock_offset_ms: MINUTE_MS - 1 }, {}],
  ['comparing', /^Whenever it is connected, .* 12 rows are not confirmed\.$/, { unconfirmed_rows: 12 }, {}],
  ['comparing', /is not counted yet\.$/, { unconfirmed_rows: null }, {}],
  ['comparing', /^Since the hub was started/, { reported_ms: NOW_MS - 61 * MINUTE_MS }, {}],
  ['comparing', /^The gateway has not reported yet/, { reported_ms: null, unconfirmed_rows: null }, {}],
  [
    'silent',
    /^Not connected since .* 12 rows are not confirmed\.$/,
    { last_seen_ms: NOW_MS - 3 * MINUTE_MS, unconfirmed_rows: 12 },
    {},
  ],
  ['ok', /The clock of the gateway is not set\.$/, { is_clock_trusted: false, clock_offset_ms: 10 * MINUTE_MS }, {}],
  ['ok', /deleted up to 42 records before it could send them/, {}, { gapCount: 1, gapRows: 42 }],
  ['ok', /\(restored from a backup\)/, {}, { epochs: [{ ...FORK, first_seen_ms: NOW_MS - 1, last_seen_ms: NOW_MS }] }],
  ['ok', /all data is here[^.]*\.$/, {}, { epochs: [{ ...FORK, first_seen_ms: 0, last_seen_ms: NOW_MS }] }],
  [
    'ok',
    /made from the data of the hub: it sends new data, and nothing a second time\.$/,
    {},
    { epochs: [{ ...FORK, reason: REBUILT_REASON, first_seen_ms: NOW_MS - 1, last_seen_ms: NOW_MS }] },
  ],
] as const) {
  test(`${state}: ${words.source}`, () => {
    // the table has read-only literals; the code under test does not write to the figures
    const health = siteHealth({ ...WELL, ...site }, { ...FIGURES, ...figures } as SiteFigures, TIMES, MAX_BYTES)
    assert.equal(health.state, state)
    assert.match(health.explanation, words)
  })
}

test('the worst problem is the state, and the explanation lists all problems', () => {
  const site = { ...WELL, two_gateways_ms: NOW_MS, last_seen_ms: NOW_MS - 60 * MINUTE_MS }
  const { state, explanation, warnings } = siteHealth(site, { ...FIGURES, quarantined: 1 }, TIMES, MAX_BYTES)
  assert.equal(state, 'two_gateways')
  for (const words of [/Two gateways/, /Not connected since/, /1 piece of its data/]) assert.match(explanation, words)
  assert.deepEqual(warnings, ['two_gateways', 'quarantined'])
})

test('after the database changed, earlier reports and times are not trusted, also of silent sites', () => {
  const times = { nowMs: NOW_MS, trustedSinceMs: NOW_MS - 1000, because: 'database' } as const
  const health = (site: Partial<SiteRow>) => siteHealth({ ...WELL, ...site }, FIGURES, times, MAX_BYTES)
  const connected = health({})
  assert.equal(connected.state, 'comparing')
  assert.match(connected.explanation, /^The database of the hub is on another server than before, or went back/)
  const silent = health({ last_seen_ms: NOW_MS - 3 * MINUTE_MS })
  assert.equal(silent.state, 'silent')
  assert.match(silent.explanation, /the last contact that the database still knows of .*The database of the hub is on/)
  assert.equal(health({ reported_ms: NOW_MS - 500 }).state, 'ok')
})
