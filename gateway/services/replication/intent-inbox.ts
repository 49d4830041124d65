import { HEAD_OFFICE } from '#domain/origin.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { AppError, describeError, UnavailableError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { IntentInboxPort } from '#shared/sync-source.ts'
import type { Intent, IntentResult } from '#shared/wire/replication/sync.ts'
import type { IntentRecord, StoredIntent } from '#store/replication/intents.ts'
import type { Store } from '#store/store.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import type { AuditContext } from '../audit-context.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import { type IntentEffectsDeps, type IntentSubject, performIntent } from './intent-effects.ts'

interface IntentInboxDeps extends IntentEffectsDeps {
  store: Pick<Store, 'read' | 'write'>
  origins: Pick<AuditContext, 'run'>
  clock: Pick<GatewayClock, 'nowMs' | 'isTrusted'>
  /** Intents that the gateway accepts; `config` means all except commands. */
  allowed: 'none' | 'config' | 'all'
  log: Log
}

const LOCK_REFUSALS: readonly string[] = ['cart_is_moving', 'admin_required']
/** Limit of the reason of a rejection, in characters. */
const REASON_LENGTH = 1000

/**
 * Performs each intent of the hub once: its result is recorded in the transaction that performs it, together with the
 * note that reports it. A repeated intent finds this record.
 */
export class IntentInbox implements IntentInboxPort {
  readonly #deps: IntentInboxDeps
  readonly #turns = new SerialQueue()
  /** Intents with an unknown result, by `seq`, because the store did not respond. */
  readonly #undecided = new Map<number, Intent>()

  constructor(deps: IntentInboxDeps) {
    this.#deps = deps
  }

  /** Returns the `seq` after which the agent requests the next intents. Throws `store_unavailable`. */
  lastSeq(): number {
    const lastSeq = this.#deps.store.read.lastIntentSeq()
    return Math.min(lastSeq, ...[...this.#undecided.keys()].map((seq) => seq - 1))
  }

  /** Applies an intent once, however often it comes. Throws only `store_unavailable`: repeat it before later ones. */
  receive(intent: Intent): Promise<IntentResult> {
    return this.#turns.take(() => this.#deps.origins.run(HEAD_OFFICE, () => this.#decideInOrder(intent)))
  }

  async #decideInOrder(intent: Intent): Promise<IntentResult> {
    // a record of this intent would mark the earlier ones as done
    const earlier = [...this.#undecided.values()].filter(({ seq }) => seq < intent.seq)
    for (const undecided of earlier.sort((a, b) => a.seq - b.seq)) await this.#decide(undecided)
    return this.#decide(intent)
  }

  async #decide(intent: Intent): Promise<IntentResult> {
    this.#undecided.set(intent.seq, intent)
    const known = this.#deps.store.read.intent(intent.intent_id)
    const { status, reason } = known ?? (await this.#apply(intent))
    this.#undecided.delete(intent.seq)
    const { intent_id, kind } = intent
    if (known === undefined)
      this.#deps.log.info({ intentId: intent_id, kind, status, reason }, 'processed an intent of the hub')
    return { intent_id, status, reason }
  }

  async #apply(intent: Intent): Promise<StoredIntent> {
    const { clock, allowed } = this.#deps
    const nowMs = clock.nowMs()
    const refusal = refusalBySetting(intent.kind, allowed)
    if (refusal !== null) return this.#record(intent, { status: 'rejected', reason: refusal })
    if (clock.isTrusted && nowMs >= intent.expires_at_ms)
      return this.#record(intent, { status: 'expired', reason: 'the intent arrived after it had expired' })
    const applied: StoredIntent = { status: 'applied', reason: null }
    try {
      const record = (subject: IntentSubject | null) => this.#recordOf(intent, applied, subject)
      const isRecorded = await performIntent(this.#deps, intent, record)
      return isRecorded ? applied : await this.#record(intent, applied)
    } catch (error) {
      if (error instanceof UnavailableError) throw error
      if (!(error instanceof AppError))
        this.#deps.log.error(
          { intentId: intent.intent_id, reason: describeError(error) },
          'performing an intent of the hub failed',
        )
      return this.#record(intent, refusalOf(error))
    }
  }

  /** Records an intent that was not applied; an existing record takes precedence. */
  async #record(intent: Intent, outcome: StoredIntent): Promise<StoredIntent> {
    const { store } = this.#deps
    const { name, input } = this.#recordOf(intent, outcome, null)
    try {
      await store.write(name, input)
      return outcome
    } catch (error) {
      const known = store.read.intent(intent.intent_id)
      if (known === undefined) throw error
      return known
    }
  }

  #recordOf(
    { intent_id: intentId, seq, kind, base_rev: rev }: Intent,
    { status, reason }: StoredIntent,
    subject: IntentSubject | null,
  ): Extract<NamedWrite, { name: 'recordIntent' }> {
    const { clock } = this.#deps
    const atMs = clock.nowMs()
    const base = subject === null || rev === null ? null : { ...subject, rev }
    const trustedNowMs = clock.isTrusted ? atMs : null
    const input: IntentRecord = { intentId, seq, kind, status, reason, base, atMs, trustedNowMs }
    return { name: 'recordIntent', input }
  }
}

/** Returns a readable reason for the staff of the hub; null if the intent may be applied. */
function refusalBySetting(kind: string, allowed: IntentInboxDeps['allowed']): string | null {
  if (allowed === 'all' || (allowed === 'config' && kind !== 'command.send')) return null
  const what = allowed === 'none' ? 'no intents' : 'no commands'
  return `this gateway accepts ${what} from the hub (CARTBARN_UPSTREAM_INTENTS=${allowed})`
}

/** Describes an error; for a rejected lock with its code, which programs at the hub may evaluate as at the gateway. */
function inWords({ code, message }: AppError): string {
  return LOCK_REFUSALS.includes(code) ? `${code}: ${message}` : message
}

function refusalOf(error: unknown): StoredIntent {
  if (!(error instanceof AppError)) return { status: 'rejected', reason: 'internal error of the gateway; see its log' }
  const reason = inWords(error).slice(0, REASON_LENGTH)
  if (error.code === 'intent_superseded') return { status: 'superseded', reason }
  if (error.code === 'intent_expired') return { status: 'expired', reason }
  return { status: 'rejected', reason }
}
