import { useState } from 'preact/hooks'
import { formatSpan } from '#dashboard/texts/format.ts'
import { encryptionTexts } from '#dashboard/texts/gateway/encryption.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { QrCode } from './qr-code.tsx'
import type { Tablets } from './tablet-list.ts'
import { UserChoice, useUserChoice } from './user-choice.tsx'

type Authority = AnswerOf<'GET /tls'>['authority']
/** Pairing code with the authority that the new tablet must trust before it can open the address; null if none. */
type PairingCode = AnswerOf<'POST /pairing-codes'> & {
  authority: Authority
  /** Name of the tablet. */
  name: string
  userId: string
  /** Sessions that existed before. */
  knownIds: ReadonlySet<string>
}

/** True for the session that the code has opened. */
function isOf({ session_id, user_id, name }: Tablets['sessions'][number], made: PairingCode): boolean {
  return name === made.name && user_id === made.userId && !made.knownIds.has(session_id)
}

/** Creates a code that signs a new tablet in once, for its camera. */
export function PairTablet({ tablets: { users, sessions } }: { tablets: Tablets }) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const [name, setName] = useState('')
  const choice = useUserChoice(users, name)
  const [made, setMade] = useState<PairingCode | null>(null)
  const isIn = made !== null && sessions.some((session) => isOf(session, made))
  const { send, fault, isSending } = useSending()
  const pair = async () => {
    const user_id = await choice.take()
    const body = { user_id, name: name.trim() }
    const code = await gate.act(() => api.call('POST /pairing-codes', { body }))
    const tls = code.url.startsWith('https:') ? await api.call('GET /tls') : null
    const knownIds = new Set(sessions.map(({ session_id }) => session_id))
    setMade({ ...code, authority: tls?.authority ?? null, name: body.name, userId: user_id, knownIds })
  }
  return (
    <section class="panel">
      <h2>{texts.pair}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void send(pair)
        }}
      >
        <label class="field">
          {texts.tabletName}
          <input
            required
            maxLength={100}
            dir="auto"
            autocomplete="off"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <UserChoice choice={choice} />
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending}>
          {texts.makeCode}
        </button>
      </form>
      {isIn && <p role="status">{texts.isIn(made.name)}</p>}
      {made !== null && !isIn && <Code key={made.code} made={made} />}
    </section>
  )
}

function Code({ made }: { made: PairingCode }) {
  const { clock, second } = useDashboard()
  const texts = tabletTexts()
  const leftMs = second.value >= 0 ? Date.parse(made.expires_at) - clock.nowMs() : 0
  if (leftMs <= 0) return <p role="status">{texts.expired}</p>
  return (
    <div class="stack">
      <p>{texts.scan}</p>
      <QrCode text={made.url} />
      <p class="address">{made.url.split('#', 1)[0]}</p>
      <p class="digits">{made.code.replaceAll(/.{4}(?=.)/g, '$&-')}</p>
      {made.authority !== null && <TrustFirst guide={made.authority.guide} />}
      <p class="small">{texts.validFor(formatSpan(leftMs))}</p>
    </div>
  )
}

/** Step before pairing: without trust the browser of the new tablet warns of the address and does not load the app. */
function TrustFirst({ guide }: { guide: string | null }) {
  const texts = tabletTexts()
  return (
    <>
      <p>{texts.trustFirst}</p>
      {guide === null ? (
        <p>{encryptionTexts().closed}</p>
      ) : (
        <p class="address">
          <a href={guide}>{guide}</a>
        </p>
      )}
    </>
  )
}
