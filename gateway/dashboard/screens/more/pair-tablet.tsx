import { useState } from 'preact/hooks'
import { formatSpan } from '#dashboard/texts/format.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { AnswerOf } from '#shared/wire/operations.ts'
import { QrCode } from './qr-code.tsx'
import type { Tablets } from './tablet-list.ts'
import { UserChoice, useUserChoice } from './user-choice.tsx'

type PairingCode = AnswerOf<'POST /pairing-codes'>

/** A code that signs a new tablet in once, for its camera. */
export function PairTablet({ users }: Pick<Tablets, 'users'>) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const choice = useUserChoice(users)
  const [name, setName] = useState('')
  const [made, setMade] = useState<PairingCode | null>(null)
  const { send, fault, isSending } = useSending()
  const pair = async () => {
    const user_id = await choice.take()
    setMade(await gate.act(() => api.call('POST /pairing-codes', { body: { user_id, name: name.trim() } })))
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
      {made !== null && <Code key={made.code} made={made} />}
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
      <p class="small">{texts.validFor(formatSpan(leftMs))}</p>
    </div>
  )
}
