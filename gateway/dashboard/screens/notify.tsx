import './notify/notify.css'
import { useState } from 'preact/hooks'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { NotifierJson } from '#shared/wire/notifiers.ts'
import { AdminList } from './more/admin-list.tsx'
import { useAdminList } from './more/use-admin-list.ts'
import { NewWebhook } from './notify/new-webhook.tsx'
import { NotifierForm } from './notify/notifier-form.tsx'
import { type Target, TargetPanel } from './notify/target-panel.tsx'

/** Polling interval: deliveries send no realtime message. */
const RELOAD_EVERY_MS = 3_000

/** People and programs that receive alerts: a page of More, which provides its title. */
export function NotifyPage() {
  const { api } = useDashboard()
  const texts = notifyTexts()
  const load = async () => {
    const [notifiers, webhooks] = await Promise.all([api.call('GET /notifiers'), api.call('GET /webhooks')])
    return { notifiers, webhooks }
  }
  const list = useAdminList(load, RELOAD_EVERY_MS)
  const [adding, setAdding] = useState<'notifier' | 'webhook' | null>(null)
  const [changed, change] = useState<NotifierJson | null>(null)
  const done = () => {
    setAdding(null)
    change(null)
    void list.again()
  }
  return (
    <div class="notify">
      <p>{texts.why}</p>
      <AdminList of={list}>
        {(targets) => (
          <>
            <section class="targets" aria-labelledby="people">
              <h2 id="people">{texts.people}</h2>
              <p class="small">{targets.notifiers.length === 0 ? texts.none : texts.peopleWhy}</p>
              <ul>
                {targets.notifiers.map((notifier) => (
                  <TargetPanel
                    key={notifier.notifier_id}
                    target={toTarget(notifier)}
                    onChange={() => change(notifier)}
                    onTest={async () => {
                      await api.call('POST /notifiers/{id}/test', { path: { id: notifier.notifier_id } })
                    }}
                    onRemove={async () => {
                      await api.call('DELETE /notifiers/{id}', { path: { id: notifier.notifier_id } })
                      await list.again()
                    }}
                  />
                ))}
              </ul>
              <button type="button" class="button main" onClick={() => setAdding('notifier')}>
                {texts.addNotifier}
              </button>
            </section>
            <section class="targets" aria-labelledby="programs">
              <h2 id="programs">{texts.programs}</h2>
              <p class="small">{targets.webhooks.length === 0 ? texts.noneWebhook : texts.programsWhy}</p>
              <ul>
                {targets.webhooks.map((webhook) => (
                  <TargetPanel
                    key={webhook.webhook_id}
                    target={{ ...webhook, name: webhook.url, when: [] }}
                    onTest={async () => {
                      await api.call('POST /webhooks/{id}/test', { path: { id: webhook.webhook_id } })
                    }}
                    onRemove={async () => {
                      await api.call('DELETE /webhooks/{id}', { path: { id: webhook.webhook_id } })
                      await list.again()
                    }}
                  />
                ))}
              </ul>
              <button type="button" class="button main" onClick={() => setAdding('webhook')}>
                {texts.addWebhook}
              </button>
            </section>
          </>
        )}
      </AdminList>
      {adding === 'notifier' && <NotifierForm onDone={done} />}
      {changed !== null && <NotifierForm notifier={changed} onDone={done} />}
      {adding === 'webhook' && <NewWebhook onDone={done} />}
    </div>
  )
}

function toTarget(notifier: NotifierJson): Target {
  const texts = notifyTexts()
  const { channel, to, between, after_unacknowledged_min: after } = notifier
  return {
    ...notifier,
    name: `${texts.channels[channel]}: ${to}`,
    when: [
      ...(between === null ? [] : [texts.between(...between)]),
      ...(after === null ? [] : [texts.afterMin(after)]),
    ],
  }
}
