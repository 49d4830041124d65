import './notify/notify.css'
import { useEffect, useState } from 'preact/hooks'
import { NotActed } from '#dashboard/live/person-gate.ts'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { ApiError } from '#shared/client.ts'
import type { NotifierJson } from '#shared/wire/notifiers.ts'
import type { WebhookJson } from '#shared/wire/webhooks.ts'
import { NewNotifier } from './notify/new-notifier.tsx'
import { NewWebhook } from './notify/new-webhook.tsx'
import { type Target, TargetPanel } from './notify/target-panel.tsx'

/** What was sent is told by nobody: it is asked so often. */
const LOOK_EVERY_MS = 3_000

interface Targets {
  notifiers: NotifierJson[]
  webhooks: WebhookJson[]
}

/** People and programs that are told of alerts: a page of More, which has its title. */
export function NotifyPage() {
  const { api } = useDashboard()
  const texts = notifyTexts()
  const { targets, fault, look } = useTargets()
  const [adding, setAdding] = useState<'notifier' | 'webhook' | null>(null)
  const done = () => {
    setAdding(null)
    look()
  }
  return (
    <div class="notify">
      {fault !== null && (
        <p role="alert">{fault === 'admin_required' ? texts.adminOnly : texts.cannotLoad}</p>
      )}
      {targets !== null && (
        <>
          <section class="targets" aria-labelledby="people">
            <h2 id="people">{texts.people}</h2>
            <p class="small">{targets.notifiers.length === 0 ? texts.none : texts.peopleWhy}</p>
            <ul>
              {targets.notifiers.map((notifier) => (
                <TargetPanel
                  key={notifier.notifier_id}
                  target={toTarget(notifier)}
                  onTest={async () => {
                    await api.call('POST /notifiers/{id}/test', { path: { id: notifier.notifier_id } })
                  }}
                  onRemove={async () => {
                    await api.call('DELETE /notifiers/{id}', { path: { id: notifier.notifier_id } })
                    look()
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
                    look()
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
      {adding === 'notifier' && <NewNotifier onDone={done} />}
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

/** Both lists, as they are now. */
function useTargets(): { targets: Targets | null; fault: string | null; look: () => void } {
  const { api, gate, line } = useDashboard()
  const [targets, setTargets] = useState<Targets | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [looks, setLooks] = useState(0)
  const isLive = line.state.value.kind === 'live'
  useEffect(() => {
    if (!isLive) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let isHere = true
    const load = async () => {
      try {
        const [notifiers, webhooks] = await gate.act(() =>
          Promise.all([api.call('GET /notifiers'), api.call('GET /webhooks')]),
        )
        if (isHere) {
          setTargets({ notifiers, webhooks })
          setFault(null)
        }
      } catch (error) {
        if (isHere) setFault(error instanceof NotActed ? 'admin_required' : 'no_contact')
        // who does not want to say who it is is not asked again
        if (error instanceof NotActed || error instanceof ApiError) return
      }
      if (isHere) timer = setTimeout(() => void load(), LOOK_EVERY_MS)
    }
    void load()
    return () => {
      isHere = false
      clearTimeout(timer)
    }
  }, [api, isLive, looks])
  return { targets, fault, look: () => setLooks((known) => known + 1) }
}
