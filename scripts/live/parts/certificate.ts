import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom } from '#shared/random.ts'
import { type Bottle, type Check, type Finding, type Part, STOP_MS } from '../bottle.ts'
import type { Entry } from '../plan.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Time before the end of a certificate at which another is due. */
const RENEWED_MS = 30 * DAY_MS
/** Time from its issue until then. */
const USED_MS = 338 * DAY_MS
const UNREADABLE = 'unreadable'
/** Time without an authority after which the alert must be open, and time after its return when it must not. */
const OPENS_MS = 13 * MINUTE_MS
const CLOSES_MS = 3 * MINUTE_MS

/** The authority of the gateway, which cannot be read at times, and its certificate, which is soon due. */
export class Certificates implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #hasTls: boolean
  #authority = ''
  #isUnreadable = false
  #changedAtMs = Number.NEGATIVE_INFINITY
  /** Newest certificate that was seen, and the time. */
  #seen: { readonly leaf: X509Certificate; readonly atMs: number } | null = null
  /** Time at which a clock that was ahead has had its effects. */
  #aheadUntilMs = Number.NEGATIVE_INFINITY

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    // it takes time each minute: in one run of four
    this.#hasTls = bottle.plan.seed % 4 === 0
    const renewal: Check = {
      number: 45,
      claim: 'the certificate is renewed a month before its end, and not by a wrong clock',
      when: 'look',
      isForWrongClocks: true,
      find: () => (this.#hasTls ? this.#judgeLeaf() : []),
    }
    const alert: Check = {
      number: 29,
      claim: 'the alert certificate is open while no certificate can be issued',
      when: 'look',
      find: () => (this.#hasTls ? this.#judgeAlert() : []),
    }
    this.checks = [renewal, alert]
  }

  async setUp(): Promise<void> {
    if (!this.#hasTls) return
    const { life, time, dataDir, plan } = this.#bottle
    const { AuthorityFolder } = await time.holding('tls', import('#shared/authority/authority-folder.ts'))
    const { createAuthority, issueLeaf, readAuthority } = await time.holding(
      'tls',
      import('#shared/authority/authority.ts'),
    )
    const folder = new AuthorityFolder(dataDir)
    this.#authority = createAuthority(['bottle', 'bottle.local', 'localhost'], time.startMs - 365 * DAY_MS)
    folder.writeAuthority(this.#authority)
    await time.until('the stop before TLS', life.stop(), STOP_MS)
    await time.until('the start with TLS', life.start(), STOP_MS)
    // another like its first, but old
    const { subjectAltName = '' } = this.#leaf()
    const all = subjectAltName.split(', ').map((text) => text.split(':'))
    const valuesOf = (kind: string) => all.flatMap(([name, ...rest]) => (name === kind ? [rest.join(':')] : []))
    const hosts = { names: valuesOf('DNS'), addresses: valuesOf('IP Address') }
    const dueMs = time.startMs + createRandom(plan.seed, 'certificate').integer(2, 36) * HOUR_MS
    folder.writeLeaf(issueLeaf(readAuthority(this.#authority), hosts, dueMs - USED_MS))
  }

  async perform(entry: Entry): Promise<void> {
    const { time } = this.#bottle
    if (entry.kind === 'clock' && (entry.offMs ?? 0) > 0) this.#aheadUntilMs = Number.POSITIVE_INFINITY
    if (entry.kind === 'clock-right') this.#aheadUntilMs = time.nowMs + HOUR_MS
    if (entry.kind !== 'authority' || !this.#hasTls || this.#isUnreadable) return
    this.#bottle.explained.push(/certificate renewal failed/)
    this.#write(false)
    setTimeout(() => this.#write(true), entry.forMs)
  }

  get #authorityPath(): string {
    return join(this.#bottle.dataDir, 'tls', 'authority.pem')
  }

  /** Writes it again if a power cut has taken it back. */
  #keep(): void {
    const text = this.#bottle.life.disk.beside(() => readFileSync(this.#authorityPath, 'utf8'))
    if ((text === UNREADABLE) !== this.#isUnreadable) this.#write(!this.#isUnreadable)
  }

  #write(isReadable: boolean): void {
    const text = isReadable ? this.#authority : UNREADABLE
    const { life } = this.#bottle
    life.disk.beside(() => writeFileSync(this.#authorityPath, text, { mode: 0o600 }))
    this.#isUnreadable = !isReadable
    this.#changedAtMs = this.#bottle.time.nowMs
  }

  #leaf(): X509Certificate {
    const { life, dataDir } = this.#bottle
    return new X509Certificate(life.disk.beside(() => readFileSync(join(dataDir, 'tls', 'gateway.pem'))))
  }

  #judgeLeaf(): Finding[] {
    const { life, time, clockRightSinceMs } = this.#bottle
    const { nowMs } = time
    const leaf = this.#leaf()
    const before = this.#seen
    this.#seen = { leaf, atMs: nowMs }
    const [fromMs, endMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()]
    const shown = `a certificate from ${leaf.validFromDate.toISOString()} to ${leaf.validToDate.toISOString()}`
    if (before !== null && before.leaf.serialNumber !== leaf.serialNumber && this.#aheadUntilMs < before.atMs) {
      const dueMs = before.leaf.validToDate.getTime() - RENEWED_MS
      if (nowMs < dueMs - MINUTE_MS)
        return [{ is: `${shown} was issued`, expected: `the one before until ${new Date(dueMs).toISOString()}` }]
    }
    const ableMs = Math.max(life.startedAtMs, this.#changedAtMs, clockRightSinceMs)
    if (!life.isRunning || this.#isUnreadable || nowMs - ableMs < CLOSES_MS) return []
    if (fromMs <= nowMs && endMs - RENEWED_MS + HOUR_MS > nowMs) return []
    return [{ is: shown, expected: 'one that is valid, and for 30 days' }]
  }

  async #judgeAlert(): Promise<Finding[]> {
    this.#keep()
    const { life, time } = this.#bottle
    const answer = await this.#bottle.ask('GET', '/alerts?kind=certificate&state=open')
    const forMs = time.nowMs - Math.max(life.startedAtMs, this.#changedAtMs)
    if (answer === null || forMs < (this.#isUnreadable ? OPENS_MS : CLOSES_MS)) return []
    const isOpen = answer.body.alerts.length > 0
    if (isOpen === this.#isUnreadable) return []
    return [{ is: `certificate ${isOpen ? 'open' : 'not open'}`, expected: this.#isUnreadable ? 'open' : 'not open' }]
  }
}
