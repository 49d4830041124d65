import './cart/needs-you.css'
import { useEffect, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { checklistTexts } from '#dashboard/texts/gateway/checklist.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import type { ChecklistJson, ChecklistStep } from '#shared/wire/machine/checklist.ts'

const REFRESH_MS = 10_000

/** Page below More for each step. */
const PAGES: Readonly<Record<ChecklistStep, string>> = {
  devices: 'devices',
  barn: 'barn',
  course_map: 'course',
  zones: 'zones',
  opening_hours: 'site',
  lock_rules: 'site',
  pins: 'people',
  tablets: 'tablets',
  notifications: 'notify',
  backup: 'backups',
  encryption: 'encryption',
}

/** Steps of the set-up for admins, until all are done or an admin hides them. */
export function Checklist() {
  const { api } = useDashboard()
  const texts = checklistTexts()
  const { checklist, again } = useChecklist()
  const [isAsked, ask] = useState(false)
  if (checklist === null || checklist.hidden) return null
  const done = checklist.steps.filter((step) => step.done).length
  if (done === checklist.steps.length) return null
  const hide = async () => {
    await api.call('PATCH /site', { body: { hide_checklist: true } })
    ask(false)
    again()
  }
  return (
    <section class="needs" aria-labelledby="checklist">
      <header>
        <h2 id="checklist">{texts.title}</h2>
        <span class="needs-count">{texts.progress(done, checklist.steps.length)}</span>
        <button type="button" class="button" aria-label={texts.hide} onClick={() => ask(true)}>
          <Icon name="close" />
        </button>
      </header>
      <ul>
        {checklist.steps
          .toSorted((a, b) => Number(a.done) - Number(b.done))
          .map((step) => (
            <Step key={step.step} of={step} />
          ))}
      </ul>
      {isAsked && (
        <Question
          title={texts.hideTitle}
          action={texts.hide}
          onCancel={() => ask(false)}
          onAnswer={hide}
          refusal={refusalText}
        >
          <p>{texts.hideWhy}</p>
        </Question>
      )}
    </section>
  )
}

function Step({ of: { step, done, count } }: { of: ChecklistJson['steps'][number] }) {
  const texts = checklistTexts()
  const [title, lacks] = texts.steps[step]
  const state = count === null ? texts.done : texts.doneWith(count)
  return (
    <li>
      <a class="need" href={toHash('more', PAGES[step])}>
        <Icon name={done ? 'check' : 'plus'} />
        <span class="need-words">
          <strong>{title}</strong>
          <span>{done ? state : lacks}</span>
        </span>
        <Icon name="next" />
      </a>
    </li>
  )
}

/** Reads the checklist every few seconds for an admin's tablet; null before the first response. */
export function useChecklist(): { checklist: ChecklistJson | null; again: () => void } {
  const { api, me, line } = useDashboard()
  const [checklist, setChecklist] = useState<ChecklistJson | null>(null)
  const [asked, setAsked] = useState(0)
  // admin rights lapse after ten minutes, the state of the set-up stays visible
  const mayAsk = me.value?.user.role === 'admin' && line.state.value.kind === 'live'
  useEffect(() => {
    if (!mayAsk) return
    const ask = () => void api.call('GET /checklist').then(setChecklist, () => undefined)
    ask()
    const timer = setInterval(ask, REFRESH_MS)
    return () => clearInterval(timer)
  }, [api, mayAsk, asked])
  return { checklist: me.value?.user.role === 'admin' ? checklist : null, again: () => setAsked((count) => count + 1) }
}
