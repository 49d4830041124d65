import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'

/** Asks first: a tablet that is signed out needs somebody with a key. */
export function SignOut() {
  const dashboard = useDashboard()
  const texts = moreTexts()
  const [isAsked, ask] = useState(false)
  const { send, fault, isSending } = useSending()
  const signOut = async () => {
    await dashboard.api.call('DELETE /sessions/current')
    dashboard.leave()
  }
  return (
    <>
      <button type="button" class="button" onClick={() => ask(true)}>
        {texts.signOut}
      </button>
      {isAsked && (
        <Dialog title={`${texts.signOut}?`} onCancel={() => ask(false)}>
          <p>{texts.signOutWhy}</p>
          <Fault text={fault} />
          <div class="dialog-buttons">
            <button type="button" class="button" onClick={() => ask(false)}>
              {texts.cancel}
            </button>
            <button
              type="button"
              class="button danger"
              disabled={isSending}
              onClick={() => void send(signOut)}
            >
              {texts.signOut}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
