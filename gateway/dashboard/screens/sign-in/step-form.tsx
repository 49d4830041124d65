import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { SET_UP_STEPS, type SetUpStep } from '#dashboard/live/set-up/set-up.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import { SignInPage } from './sign-in-page.tsx'

/** Errors after which this browser no longer sets the gateway up: a user has signed in elsewhere. */
const OVER = ['admin_required', 'invalid_session', 'missing_api_key', 'session_not_found', 'set_up_only']

interface StepFormProps {
  step: SetUpStep
  title: string
  action: string
  /** Performs the step; returns the reason if the input is not usable. */
  act: () => Promise<string | null>
  onBack?: () => void
  /** Shown below the form. */
  other?: ComponentChildren
  children: ComponentChildren
}

/** Form of one step of the set-up. */
export function StepForm({ step, title, action, act, onBack, other, children }: StepFormProps) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const { send, fault, setFault, isSending } = useSending()
  const [isOver, setOver] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    let reason: string | null = null
    await send(async () => {
      try {
        reason = await act()
      } catch (error) {
        if (!(error instanceof ApiError) || !OVER.includes(error.code)) throw error
        setOver(true)
        reason = texts.setUpOver
      }
    })
    if (reason !== null) setFault(reason)
  }
  const signOut = () =>
    void api
      .call('DELETE /sessions/current')
      .catch(() => undefined)
      .then(() => location.reload())
  return (
    <SignInPage title={title}>
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <p class="small">{texts.stepOf(SET_UP_STEPS.indexOf(step) + 1, SET_UP_STEPS.length)}</p>
        {children}
        <Fault text={fault} />
        <div class="row">
          {onBack !== undefined && (
            <button type="button" class="button" onClick={onBack}>
              {texts.back}
            </button>
          )}
          {isOver ? (
            <button type="button" class="button main" onClick={signOut}>
              {texts.otherWay}
            </button>
          ) : (
            <button type="submit" class="button main" disabled={isSending}>
              {action}
            </button>
          )}
        </div>
      </form>
      {other}
    </SignInPage>
  )
}
