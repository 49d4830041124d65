import { useState } from 'preact/hooks'
import { formatNumber } from '#dashboard/texts/format.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { MqttClientJson } from '#shared/wire/mqtt-status.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'
import { Pager } from './pager.tsx'

const [PAGE, RELOAD_EVERY_MS, SEARCH_MAX] = [25, 5_000, 64]
const CONNECTIONS = ['all', 'connected', 'away'] as const
type Connections = (typeof CONNECTIONS)[number]

/** Clients of the broker: a page of More, which provides its title. */
export function MqttClientsPage() {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const [search, setSearch] = useState('')
  const [shown, show] = useState<Connections>('all')
  const [offset, setOffset] = useState(0)
  const query = {
    ...(search.trim() === '' ? {} : { search: search.trim() }),
    ...(shown === 'all' ? {} : { connected: shown === 'connected' ? ('true' as const) : ('false' as const) }),
    limit: PAGE,
    offset,
  }
  const list = useAdminList(() => api.call('GET /mqtt/clients', { query }), RELOAD_EVERY_MS, JSON.stringify(query))
  return (
    <>
      <p>{texts.mqttWhy}</p>
      <div class="stack">
        <TextField
          name={texts.find}
          max={SEARCH_MAX}
          value={search}
          onInput={(value) => {
            setOffset(0)
            setSearch(value)
          }}
        />
        <label class="field">
          {texts.show}
          <select
            value={shown}
            onChange={({ currentTarget: { value } }) => {
              setOffset(0)
              show(CONNECTIONS.find((one) => one === value) ?? 'all')
            }}
          >
            {CONNECTIONS.map((one) => (
              <option key={one} value={one}>
                {texts.connections[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <AdminList of={list}>
        {({ clients }) => (
          <section class="panel">
            {clients.length === 0 && <p>{texts.noClients}</p>}
            <ul class="items">
              {clients.map((client) => (
                <Client key={`${client.user_id} ${client.client_id}`} client={client} onChange={list.again} />
              ))}
            </ul>
            <Pager
              offset={offset}
              limit={PAGE}
              isLast={clients.length < PAGE}
              onOffset={setOffset}
              names={{ previous: texts.previousPage, next: texts.nextPage }}
            />
          </section>
        )}
      </AdminList>
    </>
  )
}

function Client({ client, onChange }: { client: MqttClientJson; onChange: () => Promise<void> }) {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const moment = useMoments()
  const [isAsked, ask] = useState(false)
  const { client_id, user_id, kind, connected_since, address, received, queue, throttled } = client
  const takenOver = client.taken_over ?? 0
  const disconnect = async () => {
    await api.call('DELETE /mqtt/clients/{client_id}', {
      path: { client_id },
      query: user_id === null ? {} : { user_id },
    })
    ask(false)
    await onChange()
  }
  return (
    <li>
      <div class="what">
        <p dir="auto">
          <strong>{client_id}</strong>
        </p>
        <p class="small">
          {[
            texts[kind],
            connected_since === null ? texts.away : texts.connected(moment(connected_since)),
            ...(address === null ? [] : [address]),
          ].join(' · ')}
        </p>
        <p class="small">
          {[
            ...(received === null ? [] : [texts.perSecond(formatNumber(received.per_second, 1))]),
            ...(queue.messages === 0 ? [] : [texts.queued(queue.messages)]),
            ...(throttled === 0 ? [] : [texts.throttled(throttled)]),
            ...(takenOver === 0 ? [] : [texts.takenOver(takenOver)]),
          ].join(' · ')}
        </p>
      </div>
      <button type="button" class="button" aria-label={`${texts.disconnect}: ${client_id}`} onClick={() => ask(true)}>
        {texts.disconnect}
      </button>
      {isAsked && (
        <Question
          title={texts.askDisconnect(client_id)}
          action={texts.disconnect}
          isDanger
          refusal={refusalText}
          onCancel={() => ask(false)}
          onAnswer={disconnect}
        >
          <p>{texts.disconnectMeans}</p>
        </Question>
      )}
    </li>
  )
}
