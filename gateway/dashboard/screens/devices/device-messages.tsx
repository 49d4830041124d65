import { deviceTexts } from '#dashboard/texts/devices.ts'
import { formatAge, formatSpan } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'

type Message = AnswerOf<'GET /devices/{id}/messages'>['messages'][number]

const REFRESH_MS = 3_000

/** Last raw messages of a device, with the result of each. */
export function DeviceMessages({ id }: { id: string }) {
  const { api } = useDashboard()
  const texts = deviceTexts()
  const list = useAdminList(() => api.call('GET /devices/{id}/messages', { path: { id } }), REFRESH_MS)
  return (
    <section class="panel">
      <h3>{texts.messages}</h3>
      <p class="small">{texts.messagesWhat}</p>
      <AdminList of={list}>
        {({ messages }) =>
          messages.length === 0 ? (
            <p>{texts.noMessages}</p>
          ) : (
            <ul class="items" aria-label={texts.messages}>
              {messages.map((message, i) => (
                <Row key={`${message.at} ${i}`} message={message} />
              ))}
            </ul>
          )
        }
      </AdminList>
    </section>
  )
}

function Row({ message }: { message: Message }) {
  const { at, topic, payload, encoding, bytes, result, drops, clock_off_s: off } = message
  const { clock, second } = useDashboard()
  const texts = deviceTexts()
  const results: Readonly<Record<string, string>> = texts.results
  const known = results[result]
  const reasons = drops.map(({ reason, count }) => (count === 1 ? reason : `${reason} × ${count}`))
  return (
    <li>
      <p class="row">
        <strong>{topic}</strong>
        <span class={known === undefined ? 'bad' : ''}>{known ?? texts.refused(result)}</span>
        <span class="small">{second.value >= 0 && formatAge(at, clock.nowMs())}</span>
        <span class="small">{texts.bytes(bytes)}</span>
        {off !== null && (
          <span class="bad">{texts.clockWas(texts.clockOff(formatSpan(Math.abs(off) * 1000), off > 0))}</span>
        )}
      </p>
      {known !== undefined && reasons.length > 0 && <p class="bad">{texts.partly(reasons.join(', '))}</p>}
      <pre class="raw" dir="ltr">
        {encoding === 'base64' ? `base64: ${payload}` : payload}
      </pre>
    </li>
  )
}
