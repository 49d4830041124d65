import { formatNumber } from '#dashboard/texts/format.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { useAddress, useChoice } from '#dashboard/ui/use-address.ts'
import type { MqttClientJson } from '#shared/wire/mqtt-status.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'
import { Pager } from './pager.tsx'

const [PAGE, RELOAD_EVERY_MS, SEARCH_MAX] = [25, 5_000, 64]
const CONNECTIONS = ['all', 'connected', 'away'] as const

/** Clients of the broker: a page of More, which provides its title. */
export function MqttClientsPage() {
  const { api, router } = useDashboard()
  const texts = gatewayTexts()
  const [search] = useAddress('search')
  const [from, setFrom] = useAddress('from')
  const [shown] = useChoice('show', CONNECTIONS)
  const offset = Number(from)
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
      <div class="row">
        <TextField
          name={texts.find}
          max={SEARCH_MAX}
          value={search}
          onInput={(value) => router.choose({ from: '', search: value })}
        />
        <SelectField
          name={texts.show}
          value={shown}
          options={texts.connections}
          onChoose={(one) => router.choose({ from: '', show: one })}
        />
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
              onOffset={(next) => setFrom(next === 0 ? '' : String(next))}
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
  const { client_id, user_id, kind, connected_since, address, received, queue, throttled } = client
  const takenOver = client.taken_over ?? 0
  const disconnect = async () => {
    await api.call('DELETE /mqtt/clients/{client_id}', {
      path: { client_id },
      query: user_id === null ? {} : { user_id },
    })
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
      <AskButton
        action={texts.disconnect}
        label={`${texts.disconnect}: ${client_id}`}
        title={texts.askDisconnect(client_id)}
        means={texts.disconnectMeans}
        onAnswer={disconnect}
      />
    </li>
  )
}
