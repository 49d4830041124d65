import { useState } from 'preact/hooks'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button } from './button.tsx'
import { lazy } from './lazy.tsx'

export const loadHelp = () => import('./help-dialog.tsx').then(({ HelpDialog }) => HelpDialog)
const HelpDialog = lazy(loadHelp, () => null)

type HelpProps = Omit<Parameters<Awaited<ReturnType<typeof loadHelp>>>[0], 'onClose'>

/** Button that explains a screen. */
export function HelpButton(props: HelpProps) {
  const [isOpen, open] = useState(false)
  return (
    <>
      <Button text="?" aria-label={shellTexts().help} onClick={() => open(true)} />
      {isOpen && <HelpDialog {...props} onClose={() => open(false)} />}
    </>
  )
}
