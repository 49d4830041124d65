import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { Button } from '#dashboard/ui/button.tsx'
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
    <>
      <p>{texts.why}</p>
      <AdminList of={list}>
        {(targets) => (
          <>
            <Targets
              title={texts.people}
              why={targets.notifiers.length === 0 ? texts.none : texts.peopleWhy}
              add={texts.addNotifier}
              onAdd={() => setAdding('notifier')}
            >
              {targets.notifiers.map((notifier) => {
                const path = { id: notifier.notifier_id }
                return (
                  <TargetPanel
                    key={notifier.notifier_id}
                    target={toTarget(notifier)}
                    onChange={() => change(notifier)}
                    onTest={() => api.call('POST /notifiers/{id}/test', { path })}
                    onRemove={() => api.call('DELETE /notifiers/{id}', { path }).then(list.again)}
                  />
                )
              })}
            </Targets>
            <Targets
              title={texts.programs}
              why={targets.webhooks.length === 0 ? texts.noneWebhook : texts.programsWhy}
              add={texts.addWebhook}
              onAdd={() => setAdding('webhook')}
            >
              {targets.webhooks.map((webhook) => {
                const path = { id: webhook.webhook_id }
                return (
                  <TargetPanel
                    key={webhook.webhook_id}
                    target={{ ...webhook, name: webhook.url, when: [] }}
                    onTest={() => api.call('POST /webhooks/{id}/test', { path })}
                    onRemove={() => api.call('DELETE /webhooks/{id}', { path }).then(list.again)}
                  />
                )
              })}
            </Targets>
          </>
        )}
      </AdminList>
      {adding === 'notifier' && <NotifierForm onDone={done} />}
      {changed !== null && <NotifierForm notifier={changed} onDone={done} />}
      {adding === 'webhook' && <NewWebhook onDone={done} />}
    </>
  )
}

interface TargetsProps {
  title: string
  why: string
  /** Label of the button that adds one. */
  add: string
  onAdd: () => void
  children: ComponentChildren
}

function Targets({ title, why, add, onAdd, children }: TargetsProps) {
  return (
    <section class="stack" aria-label={title}>
      <h2>{title}</h2>
      <p class="small">{why}</p>
      <ul class="stack">{children}</ul>
      <p>
        <Button text={add} is="main" onClick={onAdd} />
      </p>
    </section>
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
