import { HUB_ADMIN_KEY } from '#scripts/rig/hub-process.ts'
import type { TorturedHub } from './hub.ts'
import { judgeSync } from './judge.ts'
import type { StoryGateway } from './story-gateway.ts'

/** Fault at a course, and the reports of both sides about it. */
export class Story {
  readonly name: string
  /** Statuses of the gateway and the hub, word for word. */
  readonly statuses: string[] = []
  readonly problems: string[] = []
  readonly #hub: TorturedHub

  constructor(name: string, hub: TorturedHub) {
    this.name = name
    this.#hub = hub
  }

  require(isRight: boolean, problem: string): void {
    if (!isRight) this.problems.push(problem)
  }

  /** Records the status of a gateway and an additional remark. */
  note({ state, explanation }: { state: string; explanation: string }, more = ''): void {
    this.statuses.push(`GET /sync/status: ${state}: ${explanation}${more}`)
  }

  /** Requires that the statuses of both the gateway and the hub match `wanted`. */
  async requireStatus(gateway: StoryGateway, wanted: RegExp): Promise<void> {
    const status = await gateway.client.call('GET /sync/status')
    this.note(status)
    this.require(wanted.test(status.explanation), `the gateway does not report ${wanted}`)
    const response = await fetch(`http://127.0.0.1:${this.#hub.port}/sites/${gateway.site}`, {
      headers: { 'X-API-Key': HUB_ADMIN_KEY },
    })
    if (response.status !== 200) throw new Error(`GET /sites/${gateway.site}: ${response.status}`)
    // held to its schema by the hub's own tests
    const site = (await response.json()) as { state: string; explanation: string }
    this.statuses.push(`GET /sites/${gateway.site}: ${site.state}: ${site.explanation}`)
    this.require(wanted.test(site.explanation), `the hub does not report ${wanted}`)
  }

  /** Compares both sides; more than one epoch is for a gateway from a backup or from a copy. */
  async judge(gateway: StoryGateway, epochs: number): Promise<void> {
    const { judged, site } = gateway
    const isRestored = epochs > 1
    const findings = await this.#hub.read((sql) => judgeSync(sql, { ...judged, isRestored }))
    this.statuses.push(`${findings.compared.records} records, ${findings.compared.events} events at the hub`)
    this.problems.push(...findings.examples)
    const there = await this.#hub.countEpochs(site)
    this.require(there === epochs, `${there} epochs of ${site} instead of ${epochs}`)
  }
}
