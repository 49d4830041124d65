import './gateway.css'
import { useState } from 'preact/hooks'
import { readPayload } from '#dashboard/live/payload.ts'
import { formatCount } from '#dashboard/texts/format.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'
import { Pager } from './pager.tsx'

const PAGE = 20
const REPAIR = 'cartbarn repair'

/** Damage on the disk, and received messages that could not be parsed: a page of More, which provides its title. */
export function DamagePage() {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const [offset, setOffset] = useState(0)
  const load = async () => ({
    health: await api.call('GET /health'),
    messages: await api.call('GET /mqtt/quarantine'),
  })
  const list = useAdminList(load)
  return (
    <>
      <p>{texts.damageWhy}</p>
      <AdminList of={list}>
        {({ health, messages }) => (
          <>
            <Damage health={health} />
            <section class="panel">
              <h2>{texts.quarantine}</h2>
              <p>{messages.length === 0 ? texts.noQuarantine : texts.quarantineWhy}</p>
              <ul class="items">
                {messages.slice(offset, offset + PAGE).map((message, i) => (
                  // two messages received in the same moment may be identical
                  <Message key={`${offset} ${i}`} message={message} />
                ))}
              </ul>
              <Pager
                offset={offset}
                limit={PAGE}
                isLast={messages.length <= offset + PAGE}
                onOffset={setOffset}
                names={{ previous: texts.newer, next: texts.older }}
              />
            </section>
          </>
        )}
      </AdminList>
    </>
  )
}

function Damage({ health }: { health: AnswerOf<'GET /health'> }) {
  const texts = gatewayTexts()
  const moment = useMoments()
  const { damage = [], damaged_telemetry: quarantined, last_check_at } = health
  const isSound = damage.length === 0 && quarantined === undefined
  return (
    <section class="panel">
      <p>{last_check_at === undefined ? texts.neverChecked : texts.lastCheck(moment(last_check_at))}</p>
      {isSound && <p>{texts.noDamage}</p>}
      {damage.length > 0 && (
        <ul class="items">
          {damage.map(({ place, outcome, detail, found_at }) => (
            <li key={`${place} ${found_at}`}>
              <div>
                <p>
                  <strong>{texts.outcomes[outcome]}</strong> <span class="small">{moment(found_at)}</span>
                </p>
                <p lang="en">{detail}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
      {quarantined !== undefined && (
        <>
          <h2>{texts.aside}</h2>
          <p>
            {texts.asideWhat(
              formatCount(quarantined.blocks),
              quarantined.records === 0 ? null : formatCount(quarantined.records),
            )}
          </p>
          <ul class="items">
            {quarantined.newest.map(({ hardware_id, stream, from, to, reason }) => (
              <li key={`${hardware_id} ${stream} ${from} ${to}`}>
                <span dir="auto">
                  {[hardware_id ?? '–', texts.streamNames[stream], `${moment(from)} – ${moment(to)}`, reason].join(
                    ' · ',
                  )}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {!isSound && (
        <>
          <p>{texts.repairHow}</p>
          <pre class="command-line">{REPAIR}</pre>
        </>
      )}
    </section>
  )
}

function Message({ message }: { message: AnswerOf<'GET /mqtt/quarantine'>[number] }) {
  const texts = gatewayTexts()
  const moment = useMoments()
  const { received_at, topic, reason, size_bytes, payload } = message
  return (
    <li>
      <details class="unfold">
        <summary dir="auto">
          {[moment(received_at), topic, reason, texts.bytes(formatCount(size_bytes))].join(' · ')}
        </summary>
        <pre class="raw" dir="auto">
          {readPayload(payload)}
        </pre>
      </details>
    </li>
  )
}
