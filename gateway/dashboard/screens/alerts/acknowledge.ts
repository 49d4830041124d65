import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { type Sending, useSending } from '#dashboard/ui/sending.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

interface Words {
  note?: string
  reply?: string
}

type Action = 'acknowledge' | 'close'

export interface AlertActions extends Sending {
  /** `done` is called only if it succeeds. */
  act: (action: Action, alerts: readonly AlertJson[], words?: Words, done?: () => void) => Promise<void>
}

/** Acknowledges or closes alerts, optionally with a note, calls also with a text for the screen. */
export function useAlertActions(): AlertActions {
  const { api, gate } = useDashboard()
  const sending = useSending()
  const act = (action: Action, alerts: readonly AlertJson[], words: Words = {}, done?: () => void) =>
    sending.send(async () => {
      const body = { note: words.note?.trim() || null, ...(words.reply?.trim() ? { reply: words.reply.trim() } : {}) }
      for (const { alert_id: id } of alerts)
        await gate.act(() => api.call(`POST /alerts/{id}/${action}`, { path: { id }, body }))
      done?.()
    })
  return { ...sending, act }
}
