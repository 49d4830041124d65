import { SiteClient } from '#hub/testing/site-client.ts'
import { startPostgres } from '#hub/testing/start-postgres.ts'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { none } from '#scripts/rig/figures.ts'
import { HubProcess } from '#scripts/rig/hub-process.ts'
import type { Neighbour } from '#scripts/rig/neighbours/attack-plan.ts'
import { HUB_NEIGHBOURS } from '#scripts/rig/neighbours/hub-attacks.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { measurement, type RunContext, type Scenario } from '#scripts/rig/scenario.ts'
import type { HubRegularsFunctions } from './hub-regulars.ts'
import { BASE, measureRounds, NOISE_FIGURES, noiseValues, ofBoth, ratios, type Stage, waiting } from './sides.ts'

/** Measures a hub with a site that replicates, and one kind of noisy client each. */
export const hubRows: readonly Scenario[] = HUB_NEIGHBOURS.map((neighbour) =>
  measurement({
    name: neighbour.name,
    summary: neighbour.summary,
    rounds: 3,
    durationS: [8, 0.5],
    figures: {
      push: waiting('a push of another site'),
      pushBase: BASE,
      health: waiting('GET /health of the hub'),
      healthBase: BASE,
      rowsLost: none('acknowledged rows lost'),
      ...NOISE_FIGURES,
    },
    async run(context) {
      const rounds = await measureRounds(context, () => open(context, neighbour))
      return {
        push: ratios(rounds, 'pushMs'),
        pushBase: rounds.map(({ base }) => base.seen.pushMs),
        health: ratios(rounds, 'healthMs'),
        healthBase: rounds.map(({ base }) => base.seen.healthMs),
        rowsLost: ofBoth(rounds, 'rowsLost'),
        ...noiseValues(rounds),
      }
    },
  }),
)

type Seen = Record<'pushMs' | 'healthMs' | 'rowsLost', number>

async function open({ bench, isShort, durationS }: RunContext, neighbour: Neighbour<SiteClient>): Promise<Stage<Seen>> {
  const { hub, keys, regulars } = await bench.shared(createHub, bench)
  // in the short form the rows share a running hub
  if (!isShort || hub.port === 0) await hub.start()
  const url = `http://127.0.0.1:${hub.port}`
  await regulars.call('gather', url, 'regular', keys.regular)
  return {
    ports: { http: hub.port, mqtt: 0 },
    plan: async () => {
      const site = new SiteClient((path, init) => fetch(url + path, init), 'neighbour', keys.neighbour)
      await site.hello()
      return neighbour.plan(site, isShort)
    },
    measure: () => regulars.call('measure', durationS),
    finish: async () => {
      const seen = await regulars.call('finish')
      // it may still be working on what it received
      if (!isShort) await hub.end('SIGKILL')
      return seen
    },
  }
}

/** Creates a hub with two sites over its own PostgreSQL, which ends with this process. */
async function createHub(bench: Workbench) {
  const { url } = await startPostgres({ survivesKill: true })
  const hub = new HubProcess(bench, { CARTBARN_HUB_DATABASE_URL: url })
  const keys = { regular: await hub.addSite('regular'), neighbour: await hub.addSite('neighbour') }
  return {
    hub,
    keys,
    regulars: new ForkedScript<HubRegularsFunctions>(bench, new URL('./hub-regulars.ts', import.meta.url)),
  }
}
