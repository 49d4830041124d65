import type { TorturedHub } from './hub.ts'
import { judgeSync } from './judge.ts'
import type { StoryGateway } from './story-gateway.ts'

/** Fault at a course, and the reports of both sides about it. */
export class Story {
  /** Statuses of the gateway and the hub, word for word. */
  readonly statuses: string[] = []
  readonly problems: string[] = []
  readonly #hub: TorturedHub

  constructor(hub: TorturedHub) {
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
    const site = await this.#hub.site(gateway.site)
    this.statuses.push(`GET /sites/${gateway.site}: ${site.state}: ${site.explanation}`)
    this.require(wanted.test(site.explanation), `the hub does not report ${wanted}`)
  }

  /** Compares both sides; more than one epoch is for a gateway from a backup or from a copy. */
  async judge(gateway: StoryGateway, epochs: number): Promise<void> {
    const { judged, site } = gateway
    const isRestored = epochs > 1
    const findings = await this.#hub.read((sql) => judgeSync(sql, { ...judged, isRestored }))
    this.statuses.push(
      `${findings.compared.records} records, ${findings.compared.rows} rows of events and entities at the hub`,
    )
    this.problems.push(...findings.examples)
    const there = await this.#hub.countEpochs(site)
    this.require(there === epochs, `${there} epochs of ${site} instead of ${epochs}`)
  }
}
