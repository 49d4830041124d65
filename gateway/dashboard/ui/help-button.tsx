import { useState } from 'preact/hooks'
import type { helpTexts } from '#dashboard/texts/help.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button } from './button.tsx'
import { lazy } from './lazy.tsx'

export interface HelpButtonProps {
  screen: keyof ReturnType<typeof helpTexts>['screens']
  /** Title of the screen, as in its heading. */
  title: string
}

export const loadHelp = () => import('./help-dialog.tsx').then(({ HelpDialog }) => HelpDialog)
const HelpDialog = lazy(loadHelp, () => null)

/** Button that explains a screen. */
export function HelpButton(props: HelpButtonProps) {
  const [isOpen, open] = useState(false)
  return (
    <>
      <Button text="?" aria-label={shellTexts().help} onClick={() => open(true)} />
      {isOpen && <HelpDialog {...props} onClose={() => open(false)} />}
    </>
  )
}
