" The buffer of a conversation: what a line is, is told by how it begins.

if exists('b:current_syntax')
  finish
endif

syntax spell notoplevel
syntax sync minlines=50 maxlines=200

" The answer: a little of Markdown.
syntax match piHeading /^#\{1,6} .*/
syntax match piBold /\*\*[^* ][^*]\{-}\*\*/
syntax match piCode /`[^`]\+`/
syntax match piListMark /^\s*\%([-*+]\|\d\+[.)]\) /
syntax region piCodeBlock start=/^\s*\z(```\+\|\~\~\~\+\).*$/ end=/^\s*\z1\s*$/ end=/^\ze[❯▸] / keepend

syntax match piUser /^❯ .*/
syntax match piThinking /^┆.*/
syntax match piMeta /^· .*/
syntax match piError /^! .*/
syntax match piQuestion /^?\d* .*/
syntax match piTool /^▸ .*/ contains=piOk,piFailed
syntax match piOk /  — ok.*$/ contained
syntax match piFailed /  — \%(ok\)\@!.*$/ contained
syntax match piOutput /^│ .*/
syntax match piDiff /^┃ .*/ contains=piDiffAdd,piDiffDelete,piDiffHunk
syntax match piDiffAdd /^┃ +.*/ contained
syntax match piDiffDelete /^┃ -.*/ contained
syntax match piDiffHunk /^┃ @@.*/ contained

" Names of groups are not case-sensitive: piUser is PiUser, see lua/pi/highlight.lua.
highlight default link piCodeBlock PiCode

let b:current_syntax = 'pi'
